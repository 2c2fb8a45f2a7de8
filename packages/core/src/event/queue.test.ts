import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { AgentEvent } from '@koagent/core'
import { bufferSize, EventQueue } from './queue.ts'

const event = (seq: number): AgentEvent => ({ type: 'turn_begin', seq }) as AgentEvent

/** Pushes as a loop does: the next only when the queue lets it. Tells how many went in. */
function producer(queue: EventQueue, count: number): { pushed: number; done: Promise<void> } {
  const state = { pushed: 0, done: Promise.resolve() }
  state.done = (async () => {
    for (let i = 0; i < count; i++) {
      const held = queue.push(event(i))
      state.pushed++
      if (held) await held
    }
  })()
  return state
}

async function readAll(queue: EventQueue): Promise<number[]> {
  const seqs: number[] = []
  for (let next = await queue.read(); !next.done; next = await queue.read()) seqs.push(next.value.seq)
  return seqs
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, i) => i)

describe('a queue that is being read', () => {
  test('lets the producer be one buffer ahead, and goes on as it is read', async () => {
    const queue = new EventQueue()
    queue.take()
    const state = producer(queue, 300)
    await setImmediate()
    expect(state.pushed).toBe(bufferSize + 1)
    for (let read = 1; read <= 10; read++) {
      expect((await queue.read()).value?.seq).toBe(read - 1)
      await setImmediate()
      expect(state.pushed).toBe(bufferSize + 1 + read)
    }
  })

  test('loses nothing and keeps the order over many buffers', async () => {
    const queue = new EventQueue()
    queue.take()
    const all = producer(queue, bufferSize * 10)
    void all.done.then(() => queue.end())
    expect(await readAll(queue)).toEqual(upTo(bufferSize * 10))
  })

  test('hands an event straight to a reader that waits', async () => {
    const queue = new EventQueue()
    queue.take()
    const reading = queue.read()
    expect(queue.push(event(7))).toBeUndefined()
    expect(await reading).toEqual({ done: false, value: event(7) })
  })

  test('serves several reads at once in their order', async () => {
    const queue = new EventQueue()
    queue.take()
    const reads = [queue.read(), queue.read(), queue.read()]
    await queue.push(event(0))
    await queue.push(event(1))
    queue.end()
    expect((await Promise.all(reads)).map((read) => read.value?.seq)).toEqual([0, 1, undefined])
  })

  test('lets go of the producer when the run is ending, and still gives what it has', async () => {
    const queue = new EventQueue()
    queue.take()
    const all = producer(queue, 200)
    await setImmediate()
    queue.release()
    await all.done
    queue.end()
    expect(await readAll(queue)).toEqual(upTo(200))
    expect(await queue.read()).toEqual({ done: true, value: undefined })
  })
})

describe('a queue that nobody reads', () => {
  test('holds nobody and keeps the latest events', async () => {
    const queue = new EventQueue()
    await producer(queue, 1_000).done
    expect(queue.lost).toBe(1_000 - bufferSize)
    queue.end()
    expect(await readAll(queue)).toEqual(upTo(1_000).slice(-bufferSize))
  })

  test('has lost nothing as long as all fits', async () => {
    const queue = new EventQueue()
    await producer(queue, bufferSize).done
    expect(queue.lost).toBe(0)
    queue.take()
    queue.end()
    expect(await readAll(queue)).toEqual(upTo(bufferSize))
  })
})

test('what is pushed after the end is dropped', async () => {
  const queue = new EventQueue()
  queue.end()
  expect(queue.push(event(0))).toBeUndefined()
  expect((await queue.read()).done).toBe(true)
})
