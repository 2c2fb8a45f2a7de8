// The process of a contender: prepares lanes and measures them when it is told to, and sleeps in between.
import { laneOf } from '../lanes.ts'
import { slice } from './lane.ts'
import type { Lane, LaneId } from './lane.ts'

/** What the parent asks for, one at a time. */
export interface Request {
  readonly lane: LaneId
  /** Work for so long. */
  readonly ms: number
}

/** CPU microseconds per unit, or why there is no figure. */
export type Reply = { readonly cpu: number } | { readonly error: string }

const lanes = new Map<string, Promise<Lane>>()

process.on('message', (request: Request) => {
  void answer(request).then((reply) => process.send?.(reply))
})
// The parent is gone, however it went.
process.on('disconnect', () => process.exit())

async function answer({ lane, ms }: Request): Promise<Reply> {
  try {
    const key = JSON.stringify(lane)
    const prepared = lanes.get(key) ?? laneOf(lane)
    lanes.set(key, prepared)
    return { cpu: await slice(await prepared, ms) }
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) }
  }
}
