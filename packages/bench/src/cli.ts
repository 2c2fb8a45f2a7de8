import { parts } from './parts/parts.ts'
for (const p of process.argv.slice(2)) {
const r = await (parts as any)[p].measure({ rounds: 3, sliceMs: 80, warmMs: 800, shrink: 1, report: () => {} })
console.table(r.figures); console.table(r.verdicts); console.log(r.failures)
}
