import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Model, ModelError } from '@koagent/core'
import { anthropic } from '../anthropic/anthropic.ts'
import { openaiCompatible } from '../openai-compatible/openai-compatible.ts'
import { openai } from '../openai/openai.ts'
import { bytes, partsOf, wire } from '../testing/wire.ts'

/** A body that says this and does not end; with `repeat`, that says it for ever. */
function endless(words: string, repeat: boolean = false): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => controller.enqueue(bytes(words)),
    pull: (controller) => (repeat ? controller.enqueue(bytes(words)) : new Promise<never>(() => {})),
  })
}

const models: readonly [name: string, modelOn: (fetch: typeof globalThis.fetch) => Model, finished: string][] = [
  [
    'openaiCompatible',
    (fetch) => openaiCompatible({ model: 'm', baseURL: 'http://model.test/v1', fetch }),
    'data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\n',
  ],
  [
    'anthropic',
    (fetch) => anthropic({ model: 'm', baseURL: 'http://model.test', fetch }),
    `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}\n\n` +
      `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n`,
  ],
  [
    'openai',
    (fetch) => openai({ model: 'm', baseURL: 'http://model.test/v1', apiKey: 'none', fetch }),
    `data: {"type":"response.completed","response":{"output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}}\n\n`,
  ],
]

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

describe.for(models)('a body that never ends (%s)', ([, modelOn, finished]) => {
  test.for([false, true])(
    'in a refusal is read for a while, and what it said is told (says more and more: %s)',
    async (repeat) => {
      const { fetch } = wire(() => new Response(endless('not now ', repeat), { status: 503 }))
      const failure = partsOf(modelOn(fetch)).catch((error: unknown) => error as ModelError)
      if (!repeat) await vi.advanceTimersByTimeAsync(5000)
      expect(await failure).toMatchObject({ status: 503, retryable: true, message: expect.stringMatching(/HTTP 503: not now/) })
      expect(vi.getTimerCount()).toBe(0)
    },
  )

  test('behind a complete answer ends it after a while', async () => {
    const { fetch } = wire(() => new Response(endless(finished)))
    const answer = partsOf(modelOn(fetch))
    await vi.advanceTimersByTimeAsync(5000)
    const parts = await answer
    expect(parts[0]).toEqual({ type: 'text_delta', text: 'hi' })
    expect(parts.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' })
    expect(vi.getTimerCount()).toBe(0)
  })
})
