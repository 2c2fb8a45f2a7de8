import { expect, test } from 'vitest'
import { ratio } from './figures.ts'
import type { Figure } from './part.ts'

const figure = (rounds: readonly number[]): Figure => ({
  contender: 'c',
  variant: 'v',
  unit: 'µs',
  min: Math.min(...rounds),
  rounds,
})

test('two things are compared within each round, so that a machine that slows down for a while changes nothing', () => {
  expect(ratio(figure([20, 40, 41, 20]), figure([2, 4, 4, 2]))).toBe(10)
  // The first was never measured while the machine was fast.
  expect(ratio(figure([40, 40, 40]), figure([4, 4, 2]))).toBe(10)
})

test('what was measured once only, or in other rounds, is compared by its least', () => {
  const once: Figure = { contender: 'c', variant: 'v', unit: 'MB', min: 3 }
  expect(ratio(once, { ...once, min: 6 })).toBe(0.5)
  expect(ratio(figure([4, 6]), figure([2]))).toBe(2)
  expect(ratio(once, undefined)).toBeUndefined()
})
