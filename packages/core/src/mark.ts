/** A note on somebody else's objects that only its holder can make and see. */
export interface Mark<Note> {
  get(value: object): Note | undefined
  /** An object bears one at most, for ever. */
  set(value: object, note: Note): void
}

/** Gives back what it is given, so that a class that extends it puts its private fields on that very object. */
// oxlint-disable-next-line typescript/no-extraneous-class -- a function cannot be extended
class Itself {
  constructor(value: object) {
    // oxlint-disable-next-line no-constructor-return -- the point of it
    return value
  }
}

/**
 * Makes a kind of mark: a private field, which nobody else sees, and which costs a fifth of an entry in a WeakMap. Such entries also slow every
 * garbage collection: what they hold outlives its use.
 */
export function newMark<Note>(): Mark<Note> {
  class Marked extends Itself {
    readonly #note: Note

    constructor(value: object, note: Note) {
      super(value)
      this.#note = note
    }

    static of(value: object): Note | undefined {
      return #note in value ? value.#note : undefined
    }
  }
  /** A later edition of the language may refuse private fields to what is frozen. */
  const refused = new WeakMap<object, Note>()
  return {
    get: (value) => Marked.of(value) ?? refused.get(value),
    set(value, note) {
      try {
        void new Marked(value, note)
      } catch {
        refused.set(value, note)
      }
    },
  }
}
