import type { Context } from '../ctx.ts'
import { ConfigError } from '../errors.ts'
import { checkShape } from './middleware.ts'
import type { AnyMiddleware, MetaOfAll, Middleware, MiddlewareList } from './middleware.ts'

/** What the predicate of {@link when} sees. `toolName` is there for a tool call. */
export type WhenContext<Meta = unknown> = Pick<
  Context<Meta>,
  'agent' | 'session' | 'runId' | 'turn' | 'input' | 'metadata' | 'path' | 'get'
> & { readonly toolName?: string }

export type Predicate = (this: void, ctx: WhenContext<never>) => boolean
export type ToolFilter = string | readonly string[] | RegExp

/** How a wrapper is told from a plain middleware. A registered symbol, so that packages with a copy of core of their own can be mixed. */
const wrapper: unique symbol = Symbol.for('koagent.wrapper') as never

interface Wrapper {
  readonly members: readonly AnyMiddleware[]
  readonly predicate?: Predicate
  readonly tools?: (toolName: string) => boolean
}

/** What a wrapper holds; undefined for a plain middleware. */
export function unwrap(middleware: AnyMiddleware & { readonly [wrapper]?: Wrapper }): Wrapper | undefined {
  return middleware[wrapper]
}

/** A wrapper needs the metadata that its members need, which its caller states. */
function wrap<Meta>(name: string, value: Wrapper): Middleware<Meta> {
  return Object.freeze({ name, [wrapper]: value })
}

/**
 * Several middlewares as one, in onion order. They are flattened when the agent is built: members keep their names and policies.
 *
 * @throws ConfigError when a member has a wrong shape
 */
export function stack<const Metas extends readonly unknown[]>(
  name: string,
  members: MiddlewareList<Metas>,
): Middleware<MetaOfAll<Metas>> {
  if (!Array.isArray(members)) throw new ConfigError(`stack '${name}' takes a list of middleware`)
  for (const member of members as readonly AnyMiddleware[]) checkShape(member)
  return wrap(name, { members })
}

/**
 * Makes a middleware active only where the predicate says so. It is asked once for each run, turn, step and call, and its answer is kept.
 * A predicate that throws counts as true. What the middleware's `sanitize` covers does not depend on it.
 */
export function when<Meta>(
  predicate: (this: void, ctx: WhenContext<Meta>) => boolean,
  middleware: Middleware<Meta>,
): Middleware<Meta> {
  checkShape(middleware)
  const { name } = middleware
  if (typeof predicate !== 'function') throw new ConfigError(`when(…, '${name}') takes a function`)
  return wrap(name, { members: [middleware], predicate })
}

/** Shows a middleware's tool hooks, and the events of tool calls, only to the calls of these tools: by name, names or pattern. */
export function forTools<Meta>(filter: ToolFilter, middleware: Middleware<Meta>): Middleware<Meta> {
  checkShape(middleware)
  const { name } = middleware
  if (filter instanceof RegExp) {
    // A copy without g and y: those keep a position between tests.
    const pattern = new RegExp(filter, filter.flags.replace(/[gy]/g, ''))
    return wrap(name, { members: [middleware], tools: (toolName) => pattern.test(toolName) })
  }
  const names = typeof filter === 'string' ? [filter] : filter
  if (!Array.isArray(names)) throw new ConfigError(`forTools(…, '${name}') takes a tool name, a list of them or a RegExp`)
  return wrap(name, { members: [middleware], tools: (toolName) => names.includes(toolName) })
}
