import { run } from './parts/run/run.ts'
import { layer } from './parts/layer/layer.ts'
import { scale } from './parts/scale/scale.ts'
import { stream } from './parts/stream/stream.ts'
for (const p of process.argv.slice(2)) {
const r = await ({run, layer, scale, stream} as any)[p].measure({ rounds: 3, sliceMs: 80, warmMs: 800, shrink: 1, report: () => {} })
console.table(r.figures); console.table(r.verdicts); console.log(r.failures)
}
