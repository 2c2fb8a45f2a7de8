import { fiveMiddlewares, noMiddleware, otherEvents, sameSource, transforms } from '../../contenders/contender.ts'
import { contenderNames } from '../../contenders/contenders.ts'
import type { ContenderName } from '../../contenders/contenders.ts'
import type { Place } from '../../measure/crew.ts'
import { measure } from '../../measure/rounds.ts'
import { compared, figuresOf, ratio, together, figureOf } from '../figures.ts'
import { atLeast, atMost } from '../part.ts'
import type { Figure, Part, Verdict } from '../part.ts'

export const stream: Part = {
  title: 'CPU time of a text delta, streamed to a for await consumer',

  async measure(settings) {
    const { samples, failures } = await measure(places, settings)
    const figures = compared(figuresOf(samples, 'µs/delta'), noMiddleware)
    return { figures, verdicts: streamVerdicts(figures), failures }
  },
}

const places: readonly Place[] = [
  ...contenderNames.flatMap((contender) =>
    variantsOf(contender).map((variant) => ({
      process: `${contender}, ${variant}`,
      lane: { part: 'stream', contender, variant },
    })),
  ),
  ...['loop', 'koagent'].map((contender) => ({
    process: 'loop and koagent',
    lane: { part: 'stream', contender, variant: noMiddleware },
    as: together,
  })),
]

function variantsOf(contender: ContenderName): readonly string[] {
  if (contender === 'loop') return [noMiddleware]
  if (contender === 'pi-agent-core') return [noMiddleware, sameSource]
  const both = [noMiddleware, fiveMiddlewares]
  return contender === 'koagent' ? [...both, transforms(1), transforms(5), otherEvents] : both
}

/** Less than this share more is what a machine does by itself. */
const noise = 1.1

/** What the figures say about the goals of this part. */
export function streamVerdicts(figures: readonly Figure[]): Verdict[] {
  const of = (contender: string, variant = noMiddleware): Figure | undefined => figureOf(figures, contender, variant)
  const toKoagent = (contender: string): number | undefined => ratio(of(contender), of('koagent'))
  return [
    atMost(
      '0 middlewares: at most 4 × a bare generator, in one process',
      ratio(of('koagent', together), of('loop', together)),
      4,
    ),
    atMost(
      '0 middlewares: no slower than pi-agent-core fed by the same source',
      ratio(of('koagent'), of('pi-agent-core', sameSource)),
      1,
    ),
    atMost(`${otherEvents}: at most ${noise} × none`, ratio(of('koagent', otherEvents), of('koagent')), noise),
    atLeast('langchain uses at least 20 × koagent', toKoagent('langchain'), 20),
    atLeast('ai uses at least 20 × koagent', toKoagent('ai'), 20),
    atLeast('@openai/agents uses at least 10 × koagent', toKoagent('@openai/agents'), 10),
  ]
}
