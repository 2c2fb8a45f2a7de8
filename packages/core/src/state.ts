import { encode } from 'zod'
import type { ZodType } from 'zod'
import { ConfigError, messageOf } from './errors.ts'
import { deepFreeze } from './freeze.ts'
import { issuesText } from './issues.ts'
import type { Issue } from './issues.ts'

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
  if (typeof name !== 'string' || !name) throw new ConfigError(`a state key needs a name such as 'acme/turns'`)
  if (typeof schema?.safeParse !== 'function') {
    throw new ConfigError(`state '${name}' needs a zod schema, such as z.number().default(0)`)
  }
  return Object.freeze({ name, schema, scope })
}

interface Slot {
  readonly key: StateKey
  /** Absent until it is set or its default was asked for. */
  value?: unknown
}

/** The state of one run. Values of 'tree' keys live in the store of the outermost run, given as `tree`. */
export class StateStore {
  readonly #slots: Map<string, Slot> = new Map()
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
      const { success, data } = attempt(() => key.schema.safeParse(undefined), key, 'its default')
      if (!success) {
        throw new ConfigError(
          `state '${key.name}' has no value yet and its schema has no default: set it first, or add .default(…) to the schema`,
        )
      }
      slot.value = deepFreeze(data)
    }
    return slot.value as T
  }

  /**
   * Sets a 'run' key. The value is validated, then frozen in place, all the way down.
   *
   * @throws ConfigError for an invalid value, for a 'tree' key, or when two keys have one name.
   */
  set<T>(key: StateKey<T>, value: NoInfer<T>): void {
    if (key.scope === 'tree') {
      throw new ConfigError(
        `state '${key.name}' is shared with subagents that run at the same time: change it with update(key, reducer)`,
      )
    }
    this.#write(key, value)
  }

  /**
   * Sets a key from its present value and gives back the new one. The reducer is synchronous, so that no other write comes between.
   *
   * @throws ConfigError for an invalid value, a reducer that returns a promise, or when two keys have one name.
   */
  update<T>(key: StateKey<T>, reducer: (value: T) => NoInfer<T>): T {
    const value: unknown = reducer(this.get(key))
    if (typeof (value as PromiseLike<T> | null)?.then === 'function') {
      // Its rejection has no other reader.
      ;(value as PromiseLike<T>).then(undefined, () => {})
      throw new ConfigError(
        `the reducer for state '${key.name}' returned a promise: do the waiting first, then update with a synchronous reducer`,
      )
    }
    this.#write(key, value as T)
    return value as T
  }

  #write<T>(key: StateKey<T>, value: T): void {
    const slot = this.#slot(key)
    // Encoding validates the value as code sees it, also where a codec stores it in another form.
    attempt(() => encode(key.schema, value), key, 'this value')
    slot.value = deepFreeze(value)
  }

  #slot(key: StateKey): Slot {
    let slot = this.#slots.get(key.name)
    if (!slot) {
      slot = key.scope === 'tree' && this.#tree !== this ? this.#tree.#slot(key) : { key }
      this.#slots.set(key.name, slot)
    }
    if (slot.key !== key) {
      throw new ConfigError(
        `two different state keys are named '${key.name}': rename one, or share one key object (a package that is installed twice makes two)`,
      )
    }
    return slot
  }
}

function attempt<R>(work: () => R, key: StateKey, what: string): R {
  try {
    return work()
  } catch (error) {
    const { issues } = error as { issues?: readonly Issue[] }
    throw new ConfigError(`state '${key.name}' does not take ${what}: ${issues ? issuesText(issues) : messageOf(error)}`, {
      cause: error,
    })
  }
}
