import { contenderNamed } from '../../contenders/contenders.ts'
import type { Lane, LaneId } from '../../measure/lane.ts'

/** In one answer. */
const deltas = 1_000

/** A contender's stream to a `for await` consumer. Every single one is counted. */
export async function streamLane({ contender, variant }: LaneId): Promise<Lane> {
  const streams = (await contenderNamed(contender)).streams(deltas)
  const make = streams[variant]
  if (!make) throw new Error(`${contender} has no stream with ${variant}: there is ${Object.keys(streams).join(', ')}`)
  const stream = make()
  return {
    units: deltas,
    async work() {
      const count = await stream()
      if (count !== deltas) throw new Error(`${count} of ${deltas} deltas reached the consumer`)
    },
  }
}
