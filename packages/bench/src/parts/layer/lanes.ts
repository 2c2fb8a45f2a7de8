import { createRequire } from 'node:module'
import { Agent, defineMiddleware } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { times } from '../../contenders/contender.ts'
import { talkingModel } from '../../contenders/koagent.ts'
import type { Lane, LaneId } from '../../measure/lane.ts'

/** What a layer costs is the difference between these, so that what stands around the layers falls out. */
export const few = 1
export const many = 101

/** Points that a run of one answer passes once each: a gate, an around point, an after point. */
export const layerPoints = ['before_turn', 'around_llm_step', 'after_turn'] as const

/** How a layer that does nothing is written: it returns what `next()` gives, or it awaits that first. */
export const styles = ['returns next()', 'awaits next()'] as const

export const raw = 'koa-compose'

type Layer = (ctx: unknown, next: () => Promise<unknown>) => Promise<unknown>
type Compose = (layers: readonly Layer[]) => (ctx: object) => Promise<unknown>

// Its published types give Promise<void>, and pull in Koa.
const require = createRequire(import.meta.url)
const compose = require('koa-compose') as Compose

/** `contender` is a hook point or koa-compose, `variant` is '<layers>, <style>'. */
export function layerLane({ contender, variant }: LaneId): Lane {
  const [count = '', style] = variant.split(', ')
  const layers = times(Number(count), () => (style === styles[0] ? returning : awaiting))
  if (contender === raw) {
    const composed = compose(layers)
    return { units: 1, work: () => composed({}) }
  }
  const agent = new Agent({ model: talkingModel(1), middleware: layers.map((layer, i) => layerAt(contender, layer, i)) })
  return { units: 1, work: () => agent.run('hi') }
}

const returning: Layer = (_, next) => next()
const awaiting: Layer = async (_, next) => {
  const value = await next()
  return value
}

function layerAt(point: string, layer: Layer, index: number): Middleware {
  return defineMiddleware({ name: `layer-${index}`, [point]: layer })
}
