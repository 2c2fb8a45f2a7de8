import { layer } from './layer/layer.ts'
import { memory } from './memory/memory.ts'
import type { Part } from './part.ts'
import { run } from './run/run.ts'
import { scale } from './scale/scale.ts'
import { startup } from './startup/startup.ts'
import { stream } from './stream/stream.ts'

/** All parts by name, in the order of the report. */
export const parts = { run, layer, stream, scale, memory, startup } as const satisfies Record<string, Part>

export type PartName = keyof typeof parts
export const partNames = Object.keys(parts) as PartName[]
