import type { Settings } from '../settings.ts'

/** One row of a part's table. */
export interface Figure {
  readonly contender: string
  readonly variant: string
  readonly unit: string
  readonly min: number
  /** Over all rounds; absent where there is one value only. */
  readonly median?: number
  /** The value of each round, in their order. */
  readonly rounds?: readonly number[]
  /** Times the hand-written loop. */
  readonly toFloor?: number
  /** Times koagent. */
  readonly toKoagent?: number
}

/** What a goal came to. */
export interface Verdict {
  readonly goal: string
  /** In the goal's own terms. */
  readonly measured: string
  readonly met: boolean
}

/** What a part came to. */
export interface PartResult {
  readonly figures: readonly Figure[]
  readonly verdicts: readonly Verdict[]
  /** What could not be measured, and why. */
  readonly failures: readonly string[]
}

/** One question that the bench answers. */
export interface Part {
  readonly title: string
  measure(settings: Settings): Promise<PartResult>
}

/** A verdict on a figure that must not be above a limit. A figure that is missing meets no goal. */
export function atMost(goal: string, value: number | undefined, limit: number, unit = '×'): Verdict {
  if (value === undefined || Number.isNaN(value)) return { goal, measured: 'not measured', met: false }
  return { goal, measured: `${rounded(value)} ${unit}`, met: value <= limit }
}

/** The same for one that must not be below. */
export function atLeast(goal: string, value: number | undefined, limit: number, unit = '×'): Verdict {
  return { ...atMost(goal, value, limit, unit), met: value !== undefined && value >= limit }
}

/** Three digits that count, and never fewer than stand before the point. */
export function rounded(value: number): string {
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(value) || 1)))
  return value.toLocaleString('en-US', { maximumFractionDigits: digits })
}
