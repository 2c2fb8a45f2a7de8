import { encode } from 'zod'
import type { ZodType } from 'zod'
import { ConfigError } from './errors.ts'
import { deepFreeze } from './freeze.ts'
import { attempt } from './issues.ts'

/** A typed, named piece of state. Keep it private to a middleware or export it to share it. */
export interface StateKey<T = unknown> {
  readonly name: string
  readonly schema: ZodType<T>
  /** 'run': each run, also each subagent's, has its own value. 'tree': a run and all its subagents share one. */
  readonly scope: 'run' | 'tree'
}

/**
 * Makes a state key. Its name is unique in a run: put your package's name in front. A schema with a default makes the state readable
 * before anyone has set it. Values are JSON, or the schema is a zod codec; a one-way transform cannot hold state.
 *
 * @throws ConfigError for an empty name or a schema that is none of zod's.
 *
 * @example
 * const turns = stateKey('acme/turns', z.number().default(0))
 * ctx.set(turns, ctx.get(turns) + 1)
 */
export function stateKey<T>(
  name: string,
  schema: ZodType<T>,
  { scope = 'run' }: { readonly scope?: 'run' | 'tree' } = {},
): StateKey<T> {
  if (typeof name !== 'string' || !name) throw new ConfigError('a state key needs a name')
  if (typeof schema?.parse !== 'function') throw new ConfigError(`state '${name}' needs a zod schema`)
  return Object.freeze({ name, schema, scope })
}

interface Slot {
  readonly key: StateKey
  /** Absent until it is set or its default was asked for. */
  value?: unknown
}

/** The state of one run. Values of 'tree' keys live in the store of the outermost run, given as `tree`. */
export class StateStore {
  #slots: Map<string, Slot> | undefined
  readonly #tree: StateStore

  constructor(tree?: StateStore) {
    this.#tree = tree ? tree.#tree : this
  }

  /**
   * The value, else the schema's default, which is made once and kept. Nothing is parsed when there is a value.
   *
   * @throws ConfigError when there is neither, or when two keys have one name.
   */
  get<T>(key: StateKey<T>): T {
    const slot = this.#slot(key)
    if (!('value' in slot)) {
      const problem = `state '${key.name}' has no value yet, and its schema no valid default`
      slot.value = deepFreeze(attempt(problem, () => key.schema.parse(undefined)))
    }
    return slot.value as T
  }

  /**
   * Sets a 'run' key. The value is validated, then frozen in place, all the way down.
   *
   * @throws ConfigError for an invalid value, for a 'tree' key, or when two keys have one name.
   */
  set<T>(key: StateKey<T>, value: NoInfer<T>): void {
    if (key.scope === 'tree') throw new ConfigError(`state '${key.name}' is shared with subagents: use update(key, reducer)`)
    this.#write(key, value)
  }

  /**
   * Sets a key from its present value and gives back the new one. The reducer is synchronous, so that no other write comes between.
   *
   * @throws ConfigError for an invalid value, a reducer that returns a promise, or when two keys have one name.
   */
  update<T>(key: StateKey<T>, reducer: (value: T) => NoInfer<T>): T {
    const value = reducer(this.get(key))
    if (value instanceof Promise) {
      // Its rejection has no other reader.
      value.catch(() => {})
      throw new ConfigError(`the reducer for state '${key.name}' returned a promise: wait first, then update`)
    }
    this.#write(key, value)
    return value
  }

  #write<T>(key: StateKey<T>, value: T): void {
    const slot = this.#slot(key)
    // Encoding validates the value as code sees it, also where a codec stores it in another form.
    attempt(`state '${key.name}' does not take this value`, () => encode(key.schema, value))
    slot.value = deepFreeze(value)
  }

  #slot(key: StateKey): Slot {
    const slots = (this.#slots ??= new Map<string, Slot>())
    let slot = slots.get(key.name)
    if (!slot) {
      slot = key.scope === 'tree' && this.#tree !== this ? this.#tree.#slot(key) : { key }
      slots.set(key.name, slot)
    }
    if (slot.key !== key)
      throw new ConfigError(
        `two state keys are named '${key.name}': share one, or rename one (a package installed twice makes two)`,
      )
    return slot
  }
}
