import type { Lane, LaneId } from './measure/lane.ts'
import { layerLane } from './parts/layer/lanes.ts'
import { runLane } from './parts/run/lanes.ts'
import { scaleLane } from './parts/scale/lanes.ts'
import { streamLane } from './parts/stream/lanes.ts'

const makers: Readonly<Record<string, (id: LaneId) => Lane | Promise<Lane>>> = {
  run: runLane,
  layer: layerLane,
  stream: streamLane,
  scale: scaleLane,
}

/** Makes what is to be measured, in the process that measures it. */
export async function laneOf(id: LaneId): Promise<Lane> {
  const make = makers[id.part]
  if (!make) throw new Error(`no part '${id.part}' has lanes: there are ${Object.keys(makers).join(', ')}`)
  return make(id)
}
