/** The smallest: what the work costs when nothing else disturbs it. */
export function least(values: readonly number[]): number {
  return Math.min(...values)
}

/** The middle one, or the mean of the two in the middle. NaN of none. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2
}
