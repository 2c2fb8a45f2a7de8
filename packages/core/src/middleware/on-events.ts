import { isDecision } from '../decision.ts'
import type { Drop } from '../decision.ts'
import type { EventOf, EventType } from '../event/event.ts'
import type { Ctx, Hook } from '../hooks.ts'

type Handler<T extends EventType, Meta, Result> = (
  this: void,
  event: EventOf<T>,
  ctx: Ctx<'on_event', Meta>,
) => Result | Promise<Result>

/** What an `on_event` hook asked for; a bare hook gets every type and may not rewrite. */
export interface Subscription {
  readonly types: ReadonlySet<EventType>
  readonly rewrite: boolean
}

const subscription: unique symbol = Symbol.for('koagent.subscription') as never

export function subscriptionOf(
  hook: Hook<'on_event', never> & { readonly [subscription]?: Subscription },
): Subscription | undefined {
  return hook[subscription]
}

/** May this hook replace and drop the events it asked for? */
export function mayRewrite(hook: Hook<'on_event', never> | undefined): boolean {
  return hook !== undefined && subscriptionOf(hook)?.rewrite === true
}

/**
 * An `on_event` hook for events of these types; it costs nothing for the others and needs no `next()`.
 * With `rewrite: true` the handler may return another event of the same type, or `drop()`: that changes what consumers see, never what is stored.
 *
 * @example
 * on_event: onEvents(['tool_result'], (event) => console.log(event.toolName, event.status))
 */
export function onEvents<const T extends EventType, Meta = unknown>(
  types: readonly T[],
  handler: Handler<T, Meta, void>,
): Hook<'on_event', Meta>
export function onEvents<const T extends EventType, Meta = unknown>(
  types: readonly T[],
  handler: Handler<T, Meta, void | Drop | EventOf<T>>,
  options: { readonly rewrite: true },
): Hook<'on_event', Meta>
export function onEvents<T extends EventType, Meta>(
  types: readonly T[],
  handler: Handler<T, Meta, void | Drop | EventOf<T>>,
  { rewrite = false }: { readonly rewrite?: boolean } = {},
): Hook<'on_event', Meta> {
  const hook: Hook<'on_event', Meta> = (ctx, next) => {
    const result = handler(ctx.event as EventOf<T>, ctx)
    return result instanceof Promise ? result.then((value) => finish(value, ctx, next)) : finish(result, ctx, next)
  }
  return Object.assign(hook, { [subscription]: { types: new Set<EventType>(types), rewrite } })
}

function finish(value: unknown, ctx: object, next: () => Promise<void>): Promise<void | Drop> {
  if (value === undefined) return next()
  if (isDecision(value)) return next().then(() => value as Drop)
  Object.assign(ctx, { event: value })
  return next()
}
