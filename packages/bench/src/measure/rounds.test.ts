import { expect, test, vi } from 'vitest'
import { thorough } from '../settings.ts'
import type { Settings } from '../settings.ts'
import type { Place } from './crew.ts'
import { measure } from './rounds.ts'

const settings: Settings = { ...thorough, rounds: 3, sliceMs: 1, warmMs: 1, report: () => {} }

const place = (contender: string, variant: string): Place => ({ process: contender, lane: { part: 'run', contender, variant } })

test('a lane that fails is named with part, contender and variant, and the others go on', async () => {
  const good = place('loop', '0 middlewares')
  const bad = place('loop', '5 middlewares')
  const unknown = place('nobody', '0 middlewares')
  const { samples, failures } = await measure([bad, good, unknown], settings)
  expect(failures).toEqual([
    expect.stringContaining('run, loop, 5 middlewares: Error: loop has no hooks for 5 middlewares'),
    expect.stringContaining("run, nobody, 0 middlewares: Error: no contender is named 'nobody'"),
  ])
  expect([...samples.keys()]).toEqual([good])
  expect(samples.get(good)).toHaveLength(settings.rounds)
})

test('a lane that fails in a later round is tried no more, and has no figure', async () => {
  const [good, bad] = [place('loop', '0 middlewares'), place('koagent', '0 middlewares')]
  const asked: Place[] = []
  const stop = vi.fn<() => void>()
  const crew = {
    stop,
    async measure(each: Place) {
      asked.push(each)
      if (asked.length === 4) throw new Error('it is tired')
      return asked.length
    },
  }
  const { samples, failures } = await measure([good, bad], settings, crew)
  expect(asked).toEqual([good, bad, good, bad, good, good])
  expect([...samples]).toEqual([[good, [3, 5, 6]]])
  expect(failures).toEqual(['it is tired'])
  expect(stop).toHaveBeenCalledTimes(1)
})

test('each round measures each lane once, one after the other', async () => {
  const lanes = [place('loop', '0 middlewares'), place('koagent', '0 middlewares')]
  const seen: string[] = []
  await measure(lanes, { ...settings, rounds: 2, report: (text) => seen.push(text) })
  const names = ['loop, 0 middlewares', 'koagent, 0 middlewares']
  expect(seen).toEqual(
    ['warming up', 'round 1 of 2', 'round 2 of 2'].flatMap((when) => names.map((name) => `run: ${when}, ${name}`)),
  )
})
