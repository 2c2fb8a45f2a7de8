import { expect, test } from 'vitest'
import { least, median } from './statistics.ts'

test('the least of the values, as numbers', () => {
  expect(least([10, 9, 100])).toBe(9)
})

test.for([
  [[3], 3],
  [[10, 9, 100], 10],
  [[1, 100, 2, 3], 2.5],
  [[], NaN],
] as const)('the median of %j is %d', ([values, middle]) => {
  expect(median(values)).toBe(middle)
})
