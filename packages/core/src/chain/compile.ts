/// <reference path="../koa-compose.d.ts" />
import compose from 'koa-compose'
import type { EventType } from '../event/event.ts'
import { points } from '../hooks.ts'
import type { Point } from '../hooks.ts'
import { subscriptionOf } from '../middleware/on-events.ts'
import { contexts } from './context.ts'
import type { ContextClass } from './context.ts'
import { Frame } from './frame.ts'
import type { AnyHook } from './frame.ts'
import type { Layer } from './layer.ts'
import type { Pass } from './pass.ts'

/** The layers of one point, composed. */
export type Chain = (pass: Pass) => Promise<unknown>

/** The chains of an agent: one a point that has layers, and of on_event one an event type that a layer asked for. */
export class Chains {
  readonly layers: readonly Layer[]
  readonly bringingTools: readonly Layer[]
  /** Absent where the point has no layers: then there is nothing to do there. */
  readonly at: { readonly [P in Point]?: Chain }
  /** Is there a layer that asked for any event? */
  readonly observed: boolean
  readonly #events = new Map<EventType, Chain | null>()

  constructor(layers: readonly Layer[]) {
    this.layers = layers
    this.bringingTools = layers.filter(({ middleware }) => middleware.tools)
    this.observed = layers.some(({ middleware }) => middleware.on_event)
    const chains: { [P in Point]?: Chain } = {}
    for (const point of points) {
      const chain = point === 'on_event' ? undefined : chainOf(point, layers)
      if (chain) chains[point] = chain
    }
    this.at = chains
  }

  forEvent(type: EventType): Chain | undefined {
    let chain = this.#events.get(type)
    if (chain === undefined) {
      const asking = this.layers.filter((layer) => wants(layer, type))
      chain = chainOf('on_event', asking) ?? null
      this.#events.set(type, chain)
    }
    return chain ?? undefined
  }
}

function wants({ middleware }: Layer, type: EventType): boolean {
  const hook = middleware.on_event
  return hook !== undefined && (subscriptionOf(hook)?.types.has(type) ?? true)
}

function chainOf(point: Point, layers: readonly Layer[]): Chain | undefined {
  const guarded = layers.flatMap((layer) => {
    const hook: AnyHook | undefined = layer.middleware[point]
    return hook ? [guard(layer, hook, contexts[point])] : []
  })
  return guarded.length > 0 ? compose([...guarded, innermost]) : undefined
}

/** A layer as koa-compose runs it: wrapped once, when the agent is built. */
function guard(layer: Layer, hook: AnyHook, context: ContextClass): (pass: Pass, dispatch: () => Promise<unknown>) => unknown {
  const always = layer.conditions.length === 0 && layer.filters.length === 0
  return (pass, dispatch) =>
    (always && !pass.excluded) || pass.admits(layer) ? new Frame(pass, layer, dispatch).enter(hook, context) : dispatch()
}

/** What stands behind the last layer. */
function innermost(pass: Pass): Promise<unknown> {
  return pass.end()
}
