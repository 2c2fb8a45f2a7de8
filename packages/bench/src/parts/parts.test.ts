import { describe, expect, test } from 'vitest'
import { thorough } from '../settings.ts'
import type { Settings } from '../settings.ts'
import { partNames, parts } from './parts.ts'

const tiny: Settings = { ...thorough, rounds: 2, sliceMs: 1, warmMs: 1, shrinkScale: 50, shrinkMemory: 100, report: () => {} }

/** Rows and goals of each part, whatever they say. */
const sizes = {
  run: { figures: 27, verdicts: 11 },
  layer: { figures: 8, verdicts: 6 },
  stream: { figures: 18, verdicts: 6 },
  scale: { figures: 15, verdicts: 4 },
  memory: { figures: 11, verdicts: 6 },
  startup: { figures: 18, verdicts: 10 },
}

describe.each(partNames)('the part %s', (name) => {
  test('measures every row and judges every goal', async () => {
    const { figures, verdicts, failures } = await parts[name].measure(tiny)
    expect(failures).toEqual([])
    expect({ figures: figures.length, verdicts: verdicts.length }).toEqual(sizes[name])
    expect(new Set(figures.map(({ contender, variant }) => `${contender}, ${variant}`)).size).toBe(figures.length)
    for (const { min, median = 0 } of figures) expect([min, median].every(Number.isFinite)).toBe(true)
    expect(verdicts.filter(({ measured }) => measured === 'not measured')).toEqual([])
  })
})
