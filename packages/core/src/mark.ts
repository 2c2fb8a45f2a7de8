/** A note on somebody else's objects that only its holder can make and see. */
export interface Mark {
  has(value: object): boolean
  add(value: object): void
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
 * Makes a mark: a private field, which nobody else sees, and which costs a fifth of an entry in a WeakSet. Such entries also slow every
 * garbage collection: what they hold outlives its use.
 */
export function newMark(): Mark {
  class Marked extends Itself {
    // oxlint-disable-next-line no-unused-private-class-members -- its presence is what counts
    readonly #mark = true

    // oxlint-disable-next-line no-useless-constructor -- the implicit one takes its arguments as a list
    constructor(value: object) {
      super(value)
    }

    static has(value: object): boolean {
      return #mark in value
    }
  }
  /** A later edition of the language may refuse private fields to what is frozen. */
  const refused = new WeakSet<object>()
  return {
    has: (value) => Marked.has(value) || refused.has(value),
    add(value) {
      try {
        void new Marked(value)
      } catch {
        refused.add(value)
      }
    },
  }
}
