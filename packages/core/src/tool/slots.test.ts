import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Slots } from './slots.ts'

describe('slots', () => {
  test('start a task at once where there is room', async () => {
    let started = false
    const done = new Slots(1).run(false, async () => void (started = true))
    expect(started).toBe(true)
    await done
  })

  test('give a place back when a task fails, and pass its failure on', async () => {
    const slots = new Slots(1)
    const failed = slots.run(false, () => Promise.reject(new Error('boom')))
    const next = slots.run(true, async () => {})
    await expect(failed).rejects.toThrow('boom')
    await next
  })

  test('for any tasks, limit and order of ending: each runs once, in the order they came, never more than the limit, the lonely alone', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ alone: fc.boolean(), fails: fc.boolean() }), { maxLength: 12 }),
        fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constant(Infinity)),
        fc.scheduler(),
        async (tasks, limit, scheduler) => {
          const slots = new Slots(limit)
          const running = new Set<number>()
          const started: number[] = []
          const all = Promise.allSettled(
            tasks.map(({ alone, fails }, n) =>
              slots.run(alone, async () => {
                started.push(n)
                running.add(n)
                expect(running.size).toBeLessThanOrEqual(limit)
                if (alone || tasks.some((task, i) => task.alone && running.has(i))) expect(running.size).toBe(1)
                await scheduler.schedule(Promise.resolve(), `task ${n}`)
                running.delete(n)
                if (fails) throw new Error(`task ${n}`)
              }),
            ),
          )
          await scheduler.waitFor(all)
          expect((await all).map(({ status }) => status)).toEqual(tasks.map(({ fails }) => (fails ? 'rejected' : 'fulfilled')))
          expect(started).toEqual(tasks.map((_, n) => n))
        },
      ),
    )
  })
})
