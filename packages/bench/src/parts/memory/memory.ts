import { obituary, start } from '../../measure/child.ts'
import { atMost } from '../part.ts'
import type { Figure, Part, PartResult, Verdict } from '../part.ts'

type Facts = Readonly<Record<string, number>>

interface Question {
  readonly name: string
  readonly flags: readonly string[]
  readonly figures: (facts: Facts) => Figure[]
  readonly verdicts: (facts: Facts | undefined) => Verdict[]
}

const questions: readonly Question[] = [
  {
    name: 'progress',
    flags: ['--max-old-space-size=80'],
    figures: ({ streamedMiB = NaN, peakMiB = NaN }) => [
      figure('tool_progress, heap limit 80 MiB', 'streamed', streamedMiB, 'MiB'),
      figure('tool_progress, heap limit 80 MiB', 'highest heap', peakMiB, 'MiB'),
    ],
    verdicts: (facts) => [
      finished(
        'tool_progress of 96 MiB in a heap of 80 MiB: all of it arrives',
        facts?.['streamedMiB'],
        facts?.['wantedMiB'],
        'MiB',
      ),
    ],
  },
  {
    name: 'answer',
    flags: [],
    figures: ({ deltas = NaN, textMiB = NaN, peakMiB = NaN, heldMiB = NaN }) => [
      figure('one long answer', 'deltas', deltas, 'deltas'),
      figure('one long answer', 'its text', textMiB, 'MiB'),
      figure('one long answer', 'highest heap', peakMiB, 'MiB'),
      figure('one long answer', 'held with the result', heldMiB, 'MiB'),
    ],
    verdicts: (facts) => [
      finished('1,000,000 deltas: all of them arrive', facts?.['deltas'], facts?.['wantedDeltas'], 'deltas'),
      finished('an answer of 16 MiB: all of it is in the result', facts?.['textMiB'], facts?.['wantedMiB'], 'MiB'),
    ],
  },
  {
    name: 'signal',
    flags: [],
    figures: ({ runs = NaN, firstHalfMiB = NaN, secondHalfMiB = NaN, listeners = NaN, dependants = NaN }) => [
      figure('one outside signal', 'runs', runs, 'runs'),
      figure('one outside signal', 'growth of the heap, first half', firstHalfMiB, 'MiB'),
      figure('one outside signal', 'growth of the heap, second half', secondHalfMiB, 'MiB'),
      figure('one outside signal', 'listeners left', listeners, 'listeners'),
      figure('one outside signal', 'dependants left', dependants, 'signals'),
    ],
    verdicts: (facts) => [
      atMost(
        '10,000 runs with one signal: in their second half the heap grows at most 0.5 MiB',
        facts?.['secondHalfMiB'],
        0.5,
        'MiB',
      ),
      atMost('10,000 runs with one signal: no listener left', facts?.['listeners'], 0, 'listeners'),
      atMost('10,000 runs with one signal: no dependent signal left', facts?.['dependants'], 0, 'signals'),
    ],
  },
]

export const memory: Part = {
  title: 'Memory',

  async measure({ shrinkMemory, report }): Promise<PartResult> {
    const results: PartResult[] = []
    for (const { name, flags, figures, verdicts } of questions) {
      report(`memory: ${name}`)
      try {
        const facts = await ask(name, flags, shrinkMemory)
        results.push({ figures: figures(facts), verdicts: verdicts(facts), failures: [] })
      } catch (error) {
        results.push({
          figures: [],
          verdicts: verdicts(undefined),
          failures: [`memory, ${name}: ${error instanceof Error ? error.message : String(error)}`],
        })
      }
    }
    return {
      figures: results.flatMap(({ figures }) => figures),
      verdicts: results.flatMap(({ verdicts }) => verdicts),
      failures: results.flatMap(({ failures }) => failures),
    }
  },
}

function figure(contender: string, variant: string, min: number, unit: string): Figure {
  return { contender, variant, unit, min }
}

function finished(goal: string, got: number | undefined, wanted: number | undefined, unit: string): Verdict {
  return { ...atMost(goal, got, Infinity, unit), met: got !== undefined && got === wanted }
}

/** Asks in a process of its own: what it holds is the question. */
function ask(name: string, flags: readonly string[], shrink: number): Promise<Facts> {
  return new Promise((resolve, reject) => {
    const child = start('memory', { args: [name, String(shrink)], flags: ['--expose-gc', ...flags] })
    let said = ''
    child.stderr?.on('data', (text: Buffer) => (said += text.toString()))
    child.once('message', (facts: Facts) => resolve(facts))
    child.once('error', reject)
    child.once('close', (code, signal) => reject(new Error(obituary(code, signal, said))))
  })
}
