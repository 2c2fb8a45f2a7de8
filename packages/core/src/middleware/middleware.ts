import { ConfigError } from '../errors.ts'
import { isPlain } from '../freeze.ts'
import type { Hooks } from '../hooks.ts'
import { points } from '../hooks.ts'
import type { StateKey } from '../state.ts'
import type { Tool } from '../tool/define.ts'
import { nearest } from './nearest.ts'

/** The version of the rules between an agent and its middleware that this core speaks. */
const contract = 1

/** A layer around an agent's hook points: a plain object that anyone can publish. */
export interface Middleware<Meta = unknown> extends Hooks<Meta> {
  /** Unique in an agent; scoped like npm: 'approval', '@acme/redact'. */
  readonly name: string
  /** Stamped by {@link defineMiddleware}; an agent refuses a newer one. */
  readonly contract?: 1
  readonly provides?: readonly StateKey[]
  /** Must be provided by a middleware further out. */
  readonly requires?: readonly StateKey[]
  /** Must stand outside these, where they are present. Checked, never reordered. */
  readonly before?: readonly string[]
  /** Must stand inside these, where they are present. Checked, never reordered. */
  readonly after?: readonly string[]
  /** What a failure of this layer does: fail what it stands around, be logged, or nothing. Default 'raise'. */
  readonly errors?: 'raise' | 'log' | 'ignore'
  /** Tools that it brings along, offered while it is active. */
  readonly tools?: readonly Tool[]
  /**
   * Rewrites every content string of events, whatever the order of layers; see `ctx.sanitize`. When it throws, the string is withheld.
   *
   * @param path the names of the fields that lead to the string
   */
  readonly sanitize?: (this: void, text: string, path: readonly string[]) => string
}

/** Any middleware, whatever metadata it needs. */
export type AnyMiddleware = Middleware<never>

/** The metadata that all of these need together. Folded by a union, so that its cost is linear. */
export type MetaOfAll<Metas extends readonly unknown[]> = {
  [K in keyof Metas]: (meta: Metas[K]) => void
}[number] extends (meta: infer All) => void
  ? All
  : unknown

/** A list of middleware, from which the metadata of each is inferred. */
export type MiddlewareList<Metas extends readonly unknown[]> = { readonly [K in keyof Metas]: Middleware<Metas[K]> }

/**
 * Checks a middleware's shape and names, stamps its contract and freezes it. The types of hooks follow from their names.
 *
 * @example
 * const polite = defineMiddleware({
 *   name: 'polite',
 *   before_llm_step: (ctx, next) => (ctx.addContext('Be polite.'), next()),
 * })
 * @throws ConfigError when a hook name is unknown or a hook is not a function
 */
export function defineMiddleware<Meta = unknown>(middleware: Middleware<Meta>): Middleware<Meta> {
  checkShape(middleware)
  return Object.freeze({ contract, ...middleware })
}

/** @throws ConfigError that names the middleware, what is wrong and what to do */
export function checkShape(middleware: AnyMiddleware): void {
  const { name, contract: version = contract, errors = 'raise' } = (middleware ?? {}) as Partial<AnyMiddleware>
  if (!isPlain(middleware) || Array.isArray(middleware)) {
    const what =
      typeof middleware === 'object' && name ? `class instance '${name}', whose methods lose their this` : kindOf(middleware)
    throw new ConfigError(`a middleware is a plain object with a name and hooks, and not ${what}`)
  }
  if (typeof name !== 'string' || !name) throw new ConfigError("a middleware needs a name, such as name: 'audit'")
  const fault = (text: string): ConfigError => new ConfigError(`middleware '${name}': ${text}`)
  if (version !== contract) throw fault(`it was made for contract ${version}, and this is ${contract}: update @koagent/core`)
  if (!policies.includes(errors)) throw fault(`errors is '${errors}', and must be 'raise', 'log' or 'ignore'`)
  for (const [key, value] of Object.entries(middleware)) {
    const isHook = known.includes(key)
    if (!isHook && (typeof value === 'function' || hookLike.test(key))) {
      const { name: meant, far } = nearest(key, known)
      // A guard that never runs because of a slip in its name is worse than an error. Other functions are the author's own.
      if (far <= 2 || hookLike.test(key)) throw fault(`there is no hook '${key}': did you mean '${meant}'?`)
    }
    if (value === undefined) continue
    if (isHook && typeof value !== 'function') throw fault(`${key} must be a function, and is ${kindOf(value)}`)
    if (lists.includes(key) && !Array.isArray(value)) throw fault(`${key} must be a list, and is ${kindOf(value)}`)
  }
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value
}

const known: readonly string[] = [...points, 'sanitize']
const hookLike = /^(before|after|around|on)_/
const policies = ['raise', 'log', 'ignore']
const lists = ['provides', 'requires', 'before', 'after', 'tools']
