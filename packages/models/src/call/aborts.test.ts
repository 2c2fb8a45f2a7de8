import { getEventListeners, once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { ModelPart } from '@koagent/core'
import { describe, expect, test, vi } from 'vitest'
import { protocols } from '../testing/protocols.ts'
import { json, sse, testServer } from '../testing/server.ts'
import { bytes, hello, partsOf, streamed } from '../testing/wire.ts'

const server = testServer()

describe.for(protocols)('$name:', ({ modelAt, hi, end, done }) => {
  const call = (signal: AbortSignal): AsyncIterator<ModelPart> =>
    modelAt({ port: server.port }).stream(hello, { signal })[Symbol.asyncIterator]()

  describe('an abort', () => {
    test('before the call sends nothing', async () => {
      await expect(call(AbortSignal.abort('enough')).next()).rejects.toBe('enough')
      expect(server.requests).toBe(0)
    })

    test.for([
      ['before the headers', () => {}],
      ['before the first event', (response: ServerResponse) => response.writeHead(200, sse).flushHeaders()],
      ['in mid-stream', (response: ServerResponse) => response.writeHead(200, sse).write(hi)],
      ['while a refusal is read', (response: ServerResponse) => response.writeHead(400, json).write('{')],
    ] as const)('%s throws its reason, closes the socket and leaves no listener', async ([, begin]) => {
      const controller = new AbortController()
      const reason = { because: 'enough' }
      const closed = new Promise<void>((resolve) => {
        server.answer = (_, response) => {
          response.on('close', resolve)
          begin(response)
          setTimeout(() => controller.abort(reason), 20)
        }
      })
      await expect(partsOf(modelAt({ port: server.port }), hello, controller.signal)).rejects.toBe(reason)
      await closed
      expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    })

    test.for([
      ['waits for a key', { apiKey: () => new Promise<string>(() => {}) }],
      ['waits for a `fetch` that does not look at its signal', { fetch: () => new Promise<Response>(() => {}) }],
      ['reads a body that does not look at it', { fetch: () => Promise.resolve(new Response(new ReadableStream())) }],
    ] as const)('while the call %s throws its reason', async ([, reached]) => {
      const controller = new AbortController()
      setTimeout(() => controller.abort('enough'), 10)
      await expect(partsOf(modelAt(reached), hello, controller.signal)).rejects.toBe('enough')
      expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    })

    test('closes a response that comes too late', async () => {
      const controller = new AbortController()
      const cancel = vi.fn<() => void>()
      let parts: Promise<unknown> | undefined
      const respond = new Promise<() => void>((begun) => {
        const fetch = (): Promise<Response> =>
          new Promise((resolve) => begun(() => resolve(new Response(new ReadableStream({ cancel })))))
        parts = modelAt({ fetch }).stream(hello, { signal: controller.signal })[Symbol.asyncIterator]().next()
      })
      const answerLate = await respond
      controller.abort('enough')
      await expect(parts).rejects.toBe('enough')
      answerLate()
      await vi.waitFor(() => expect(cancel).toHaveBeenCalledOnce())
    })

    test('between two parts is seen before the second', async () => {
      const controller = new AbortController()
      const model = modelAt({ fetch: () => Promise.resolve(streamed([hi + end + done])) })
      const parts = model.stream(hello, { signal: controller.signal })[Symbol.asyncIterator]()
      expect(await parts.next()).toMatchObject({ value: { type: 'text_delta' } })
      controller.abort('enough')
      await expect(parts.next()).rejects.toBe('enough')
    })
  })

  describe('after a call', () => {
    test.for([
      ['success', hi + end + done],
      ['an error frame', `${hi}event: error\ndata: {}\n\n`],
      ['a truncated stream', hi],
    ])('that came to %s, no listener is left on its signal', async ([, stream]) => {
      server.answer = (_, response) => response.writeHead(200, sse).end(stream)
      const { signal } = new AbortController()
      const parts = call(signal)
      await parts.next()
      expect(getEventListeners(signal, 'abort').length).toBe(1)
      for (let more = true; more;) more = !(await parts.next().catch(() => ({ done: true }))).done
      expect(getEventListeners(signal, 'abort')).toEqual([])
    })

    test('that was left early, the socket is closed and no listener is left', async () => {
      const { signal } = new AbortController()
      let response: ServerResponse | undefined
      server.answer = (_, given) => (response = given).writeHead(200, sse).write(hi)
      for await (const _ of modelAt({ port: server.port }).stream(hello, { signal })) break
      if (!response?.closed) await once(response as ServerResponse, 'close')
      expect(getEventListeners(signal, 'abort')).toEqual([])
    })

    test('that ended well, its connection serves the next one', async () => {
      server.answer = (_, response) => {
        response.writeHead(200, sse).write(hi + end + done)
        setTimeout(() => response.end(), 10)
      }
      const model = modelAt({ port: server.port })
      await partsOf(model)
      const before = server.connections
      await partsOf(model)
      expect(server.connections).toBe(before)
    })

    test('whose server does not close, the stream ends all the same, and the socket is closed', async () => {
      let response: ServerResponse | undefined
      server.answer = (_, given) => (response = given).writeHead(200, sse).write(hi + end + done)
      expect((await partsOf(modelAt({ port: server.port }))).at(-1)).toMatchObject({ type: 'finish', reason: 'stop' })
      if (!response?.closed) await once(response as ServerResponse, 'close')
    })

    test('whose server goes on for ever, the stream ends all the same', async () => {
      let pieces = 0
      const body = new ReadableStream<Uint8Array>({
        pull(controller) {
          // No timer runs meanwhile; the end is there for a reader without a bound.
          if (pieces++ < 1000) controller.enqueue(bytes(pieces === 1 ? hi + end + done : ': ping\n\n'))
          else controller.close()
        },
      })
      const parts = await partsOf(modelAt({ fetch: () => Promise.resolve(new Response(body)) }))
      expect(parts.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' })
      expect(pieces).toBeLessThan(1000)
    })
  })
})
