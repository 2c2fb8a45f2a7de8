// A process of its own for each question about memory, because the question is what such a process holds.
import { answer } from './answer.ts'
import { progress } from './progress.ts'
import { signal } from './signal.ts'

const questions: Readonly<Record<string, (shrink: number) => Promise<Record<string, number>>>> = { progress, answer, signal }

const [question = '', shrink = '1'] = process.argv.slice(2)
const ask = questions[question]
if (!ask) throw new Error(`no question is named '${question}': there is ${Object.keys(questions).join(', ')}`)
process.on('disconnect', () => process.exit())
process.send?.(await ask(Number(shrink)), () => process.disconnect())
