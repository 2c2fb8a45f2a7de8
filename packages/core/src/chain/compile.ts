/// <reference path="../koa-compose.d.ts" />
import compose from 'koa-compose'
import type { EventType } from '../event/event.ts'
import { points } from '../hooks.ts'
import type { Point } from '../hooks.ts'
import { subscriptionOf } from '../middleware/on-events.ts'
import { Frame } from './frame.ts'
import type { Layer } from './layer.ts'
import type { Pass } from './pass.ts'

/** The layers of one point, composed. */
export type Chain = (pass: Pass, innermost: () => unknown) => Promise<unknown>

type AnyHook = (ctx: never, next: () => Promise<never>) => unknown

/** The chains of an agent: one a point that has layers, and of on_event one an event type that a layer asked for. */
export class Chains {
  readonly layers: readonly Layer[]
  readonly bringingTools: readonly Layer[]
  readonly #chains: Partial<Record<Point, Chain>> = {}
  readonly #events = new Map<EventType, Chain | undefined>()

  constructor(layers: readonly Layer[]) {
    this.layers = layers
    this.bringingTools = layers.filter(({ middleware }) => middleware.tools)
    for (const point of points) {
      const chain = point === 'on_event' ? undefined : chainOf(point, layers)
      if (chain) this.#chains[point] = chain
    }
  }

  /** Undefined where the point has no layers: then there is nothing to do there. */
  at(point: Point): Chain | undefined {
    return this.#chains[point]
  }

  forEvent(type: EventType): Chain | undefined {
    if (!this.#events.has(type))
      this.#events.set(
        type,
        chainOf(
          'on_event',
          this.layers.filter((layer) => wants(layer, type)),
        ),
      )
    return this.#events.get(type)
  }
}

function wants({ middleware }: Layer, type: EventType): boolean {
  const hook = middleware.on_event
  return hook !== undefined && (subscriptionOf(hook)?.types.has(type) ?? true)
}

function chainOf(point: Point, layers: readonly Layer[]): Chain | undefined {
  const guarded = layers.flatMap((layer) => {
    const hook: AnyHook | undefined = layer.middleware[point]
    return hook ? [guard(layer, hook)] : []
  })
  return guarded.length > 0 ? compose(guarded) : undefined
}

/** A layer as koa-compose runs it: wrapped once, when the agent is built. */
function guard(layer: Layer, hook: AnyHook): (pass: Pass, dispatch: () => Promise<unknown>) => unknown {
  return (pass, dispatch) => (pass.admits(layer) ? new Frame(pass, layer, dispatch).enter(hook) : dispatch())
}

/** Sends a pass through a chain. Its layers count as left when this settles. */
export async function enter(chain: Chain, pass: Pass): Promise<unknown> {
  const { passes } = pass.run
  passes.add(pass)
  try {
    return await chain(pass, pass.innermost)
  } finally {
    passes.delete(pass)
  }
}
