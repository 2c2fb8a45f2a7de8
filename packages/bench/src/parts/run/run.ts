import { contenderNames, peerNames } from '../../contenders/contenders.ts'
import type { PeerName } from '../../contenders/contenders.ts'
import type { Place } from '../../measure/crew.ts'
import { measure } from '../../measure/rounds.ts'
import { compared, figuresOf, ratio, together, figureOf } from '../figures.ts'
import { atLeast, atMost } from '../part.ts'
import type { Figure, Part, Verdict } from '../part.ts'
import { variantOf } from './lanes.ts'

const none = variantOf(0)
const five = variantOf(5)

/** How many times koagent's CPU time a peer has to use at least, both without middleware. */
const factors: Readonly<Record<PeerName, number>> = {
  'pi-agent-core': 3,
  ai: 20,
  strands: 25,
  '@openai/agents': 80,
  langchain: 250,
}

export const run: Part = {
  title: 'CPU time of a run: three tool turns and an answer',

  async measure(settings) {
    const { samples, failures } = await measure(placesWith(settings.middlewares), settings)
    const figures = compared(figuresOf(samples, 'µs/run'), none)
    return { figures, verdicts: runVerdicts(figures), failures }
  },
}

function placesWith(counts: readonly number[]): readonly Place[] {
  const own = contenderNames.flatMap((contender) =>
    // Nothing can be hung into the loop.
    (contender === 'loop' ? [0] : counts).map((count) => ({
      process: `${contender}, ${count}`,
      lane: { part: 'run', contender, variant: variantOf(count) },
    })),
  )
  const shared = ['loop', 'koagent'].map((contender) => ({
    process: 'loop and koagent',
    lane: { part: 'run', contender, variant: none },
    as: together,
  }))
  return [...own, ...shared]
}

/** What the figures say about the goals of this part. */
export function runVerdicts(figures: readonly Figure[]): Verdict[] {
  const of = (contender: string, variant: string): Figure | undefined => figureOf(figures, contender, variant)
  return [
    atMost('0 middlewares: at most 10 × the loop, in one process', ratio(of('koagent', together), of('loop', together)), 10),
    ...peerNames.map((peer) =>
      atLeast(`${peer} uses at least ${factors[peer]} × koagent`, ratio(of(peer, none), of('koagent', none)), factors[peer]),
    ),
    ...peerNames.map((peer) => {
      const limit = peer === 'pi-agent-core' ? 1.5 : 1
      return atMost(
        `5 middlewares on every point: at most ${limit} × ${peer} with none`,
        ratio(of('koagent', five), of(peer, none)),
        limit,
      )
    }),
  ]
}
