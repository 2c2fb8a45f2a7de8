import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { slice } from './lane.ts'

/** Milliseconds; only work takes time. */
let now = 0

beforeEach(() => {
  now = 0
  vi.spyOn(performance, 'now').mockImplementation(() => now)
  // A third of the time the process waits.
  vi.spyOn(process, 'cpuUsage').mockImplementation((before = { user: 0, system: 0 }) => ({
    user: now * 500 - before.user,
    system: (now * 500) / 3 - before.system,
  }))
})
afterEach(() => vi.restoreAllMocks())

test('a slice works until its time is over, and counts the time of the processor for each unit', async () => {
  const work = vi.fn<() => Promise<void>>(async () => void (now += 1))
  expect(await slice({ work, units: 1 }, 20)).toBeCloseTo(2_000 / 3)
  expect(work).toHaveBeenCalledTimes(20)
  expect(await slice({ work, units: 1_000 }, 20)).toBeCloseTo(2 / 3)
})

test('short work is done many times between two looks at the clock', async () => {
  const work = vi.fn<() => Promise<void>>(async () => void (now += 0.001))
  const looks = vi.mocked(performance.now).mock.calls
  expect(await slice({ work, units: 1 }, 20)).toBeCloseTo(2 / 3)
  expect(work.mock.calls.length).toBeGreaterThanOrEqual(20_000)
  expect(looks.length).toBeLessThan(50)
})

test('long work is done once at least', async () => {
  const work = vi.fn<() => Promise<void>>(async () => void (now += 1_000))
  await slice({ work, units: 1 }, 20)
  expect(work).toHaveBeenCalledTimes(1)
})

test('a slice whose work fails has no figure', async () => {
  await expect(slice({ work: () => Promise.reject(new Error('not done')), units: 1 }, 5)).rejects.toThrow('not done')
})
