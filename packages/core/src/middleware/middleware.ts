import { ConfigError } from '../errors.ts'
import type { Hooks } from '../hooks.ts'
import { isHookName, points } from '../hooks.ts'
import type { StateKey } from '../state.ts'
import type { Tool } from '../tool/define.ts'
import { distance, nearest } from './nearest.ts'

/** The version of the rules between an agent and its middleware that this core speaks. */
export const contract = 1

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
  if (typeof middleware !== 'object' || middleware === null) {
    throw new ConfigError(
      `a middleware is an object with a name and hooks, not ${middleware === null ? 'null' : `a ${typeof middleware}`}`,
    )
  }
  if (Array.isArray(middleware))
    throw new ConfigError(
      'a middleware is an object with a name and hooks, not a list: spread the list, or make it a stack(name, list)',
    )
  const { name } = middleware
  if (typeof name !== 'string' || name === '')
    throw new ConfigError("a middleware has no name: give it one, such as name: 'audit'")
  const prototype: unknown = Object.getPrototypeOf(middleware)
  if (prototype !== Object.prototype && prototype !== null) {
    throw new ConfigError(`middleware '${name}' is a class instance, whose methods would lose their this: make it a plain object`)
  }
  if (middleware.contract !== undefined && middleware.contract !== contract) {
    throw new ConfigError(
      `middleware '${name}' was made for contract ${String(middleware.contract)}, and this core speaks ${contract}: update @koagent/core`,
    )
  }
  if (middleware.errors !== undefined && !['raise', 'log', 'ignore'].includes(middleware.errors)) {
    throw new ConfigError(`middleware '${name}' has errors: '${String(middleware.errors)}': use 'raise', 'log' or 'ignore'`)
  }
  for (const [key, value] of Object.entries(middleware)) checkField(name, key, value)
}

function checkField(name: string, key: string, value: unknown): void {
  if (isHookName(key) || key === 'sanitize') {
    if (value !== undefined && typeof value !== 'function') {
      throw new ConfigError(
        `middleware '${name}': ${key} is ${value === null ? 'null' : `a ${typeof value}`}, and a hook is a function`,
      )
    }
  } else if (isMeantAsHook(key, value)) {
    throw new ConfigError(`middleware '${name}' has an unknown hook '${key}': did you mean '${nearest(key, known)}'?`)
  } else if (lists.has(key) && value !== undefined && !Array.isArray(value)) {
    throw new ConfigError(`middleware '${name}': ${key} is a ${typeof value}, and must be a list`)
  }
}

const known = [...points, 'sanitize']

/** A guard that never runs because of a slip in its name is worse than an error. Other fields are the author's own. */
function isMeantAsHook(key: string, value: unknown): boolean {
  if (/^(before|after|around|on)_/.test(key)) return true
  return typeof value === 'function' && known.some((name) => distance(letters(key), letters(name)) <= 2)
}

function letters(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '')
}

const lists = new Set(['provides', 'requires', 'before', 'after', 'tools'])
