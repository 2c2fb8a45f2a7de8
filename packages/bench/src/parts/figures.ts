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
  }))
}

/** The same figures beside the loop's and koagent's, both without middleware. */
export function compared(figures: readonly Figure[], none: string): Figure[] {
  return figures.map((figure) => {
    const toFloor = ratio(figure.min, valueOf(figures, 'loop', figure.variant === together ? together : none))
    const toKoagent = ratio(figure.min, valueOf(figures, 'koagent', figure.variant === together ? together : none))
    return { ...figure, ...(toFloor !== undefined && { toFloor }), ...(toKoagent !== undefined && { toKoagent }) }
  })
}

/** A figure's least value, where there is one. */
export function valueOf(figures: readonly Figure[], contender: string, variant: string): number | undefined {
  return figures.find((figure) => figure.contender === contender && figure.variant === variant)?.min
}

/** a / b, where both are known. */
export function ratio(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a / b
}
