import type { Place } from '../measure/crew.ts'
import { least, median } from '../measure/statistics.ts'
import type { Figure } from './part.ts'

/** Marks figures of the loop and of koagent that were taken in turns in one process: their ratio owes nothing to the process. */
export const together = '0 middlewares, one process'

/** The figures of what was measured by time, one for each place. */
export function figuresOf(samples: ReadonlyMap<Place, readonly number[]>, unit: string): Figure[] {
  return [...samples].map(([{ lane, as = lane.variant }, values]) => ({
    contender: lane.contender,
    variant: as,
    unit,
    min: least(values),
    median: median(values),
    rounds: values,
  }))
}

/** The same figures beside the loop's and koagent's, both without middleware. */
export function compared(figures: readonly Figure[], none: string): Figure[] {
  return figures.map((figure) => {
    const toFloor = ratio(figure, figureOf(figures, 'loop', figure.variant === together ? together : none))
    const toKoagent = ratio(figure, figureOf(figures, 'koagent', figure.variant === together ? together : none))
    return { ...figure, ...(toFloor !== undefined && { toFloor }), ...(toKoagent !== undefined && { toKoagent }) }
  })
}

export function figureOf(figures: readonly Figure[], contender: string, variant: string): Figure | undefined {
  return figures.find((figure) => figure.contender === contender && figure.variant === variant)
}

/**
 * How many times one is the other, where both are known: the median over the rounds, of what was measured in the same round. A shared machine is
 * slow for minutes and then fast again; what is measured within seconds has that in common.
 */
export function ratio(a: Figure | undefined, b: Figure | undefined): number | undefined {
  if (!a || !b) return undefined
  const { rounds = [a.min] } = a
  const others = b.rounds ?? [b.min]
  if (rounds.length !== others.length) return a.min / b.min
  return median(rounds.map((value, round) => value / (others[round] ?? NaN)))
}
