import { setImmediate } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ModelError } from '@koagent/core'
import { protocols } from '../testing/protocols.ts'
import { bytes, partsOf, streamed, wire } from '../testing/wire.ts'

/** A body that says this and does not end; with `repeat`, that says it for ever. */
function endless(words: string, repeat: boolean = false): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(bytes(words)),
    async pull(controller) {
      await (repeat ? setImmediate() : new Promise<never>(() => {}))
      controller.enqueue(bytes(words))
    },
  })
}

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

describe.for(protocols)('a body ($name)', ({ modelAt, hi, end, done }) => {
  test.for([false, true])(
    'that never ends in a refusal is read for a while, and what it said is told (says more and more: %s)',
    async (repeat) => {
      const { fetch } = wire(() => new Response(endless('not now ', repeat), { status: 503 }))
      const failure = partsOf(modelAt({ fetch })).catch((error: unknown) => error as ModelError)
      if (!repeat) await vi.advanceTimersByTimeAsync(5000)
      expect(await failure).toMatchObject({ status: 503, retryable: true, message: expect.stringMatching(/HTTP 503: not now/) })
      expect(vi.getTimerCount()).toBe(0)
    },
  )

  test('that ends leaves no timer', async () => {
    const { fetch } = wire(() => streamed([hi, end, done]))
    expect((await partsOf(modelAt({ fetch }))).at(-1)).toMatchObject({ type: 'finish', reason: 'stop' })
    expect(vi.getTimerCount()).toBe(0)
  })

  test('that never ends behind a complete answer ends it after a while', async () => {
    const { fetch } = wire(() => new Response(endless(hi + end)))
    const answer = partsOf(modelAt({ fetch }))
    await vi.advanceTimersByTimeAsync(5000)
    const parts = await answer
    expect(parts[0]).toEqual({ type: 'text_delta', text: 'hi' })
    expect(parts.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' })
    expect(vi.getTimerCount()).toBe(0)
  })
})
