import { getEventListeners, once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { ModelError } from '@koagent/core'
import type { ModelPart } from '@koagent/core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { events, hello, partsOf } from '../testing/wire.ts'
import { anthropic } from './anthropic.ts'

const hi = events([
  { type: 'message_start', message: {} },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'hi' } },
])
const ended = events([{ type: 'message_delta', delta: { stop_reason: 'end_turn' } }])
const stop = events([{ type: 'message_stop' }])
const json = { 'content-type': 'application/json' }
const sse = { 'content-type': 'text/event-stream' }
const saying = (type: string, message: string): string =>
  JSON.stringify({ type: 'error', error: { type, message }, request_id: 'r1' })

/** What the server does with the next requests, and how many came. */
let answer: RequestListener
let requests = 0
let connections = 0

const server = createServer((request, response) => {
  requests++
  request.resume().on('end', () => answer(request, response))
}).on('connection', () => connections++)
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
beforeEach(() => {
  requests = 0
})
afterAll(() => server.close())

function call(
  signal: AbortSignal = new AbortController().signal,
  port = (server.address() as AddressInfo).port,
): AsyncIterable<ModelPart> {
  const model = anthropic({ baseURL: `http://127.0.0.1:${port}`, model: 'm1', provider: 'acme' })
  return model.stream(hello, { signal })
}

async function failureOf(parts: AsyncIterable<ModelPart>): Promise<ModelError> {
  const error: unknown = await (async () => {
    for await (const part of parts) if (part.type === 'finish') throw new Error('it finished')
  })().catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ModelError)
  return error as ModelError
}

describe('a refusal', () => {
  test.for([
    [400, 'invalid_request_error', false],
    [401, 'authentication_error', false],
    [403, 'permission_error', false],
    [404, 'not_found_error', false],
    [429, 'rate_limit_error', true],
    [500, 'api_error', true],
    [504, 'timeout_error', true],
    [529, 'overloaded_error', true],
  ] as const)('with HTTP %d, %s, is retryable: %s, and asked for once', async ([status, type, retryable]) => {
    answer = (_, response) => response.writeHead(status, { ...json, 'request-id': 'r1' }).end(saying(type, 'not now'))
    expect(await failureOf(call())).toMatchObject({
      message: `model 'acme/m1' answered with HTTP ${status}: not now`,
      code: 'model',
      status,
      retryable,
      provider: 'acme',
      requestId: 'r1',
    })
    expect(requests).toBe(1)
  })

  test.for([
    ['{"message":"so it is"}', 'so it is'],
    ['"so it is"', 'so it is'],
    ['<html>so it is</html>', '<html>so it is</html>'],
  ])('that says %s is quoted', async ([body, words]) => {
    answer = (_, response) => response.writeHead(400, json).end(body)
    expect((await failureOf(call())).message).toBe(`model 'acme/m1' answered with HTTP 400: ${words}`)
  })

  test('without a word says so', async () => {
    answer = (_, response) => response.writeHead(502).end()
    expect((await failureOf(call())).message).toBe("model 'acme/m1' answered with HTTP 502, without a word")
  })

  test.for([
    [{ 'retry-after-ms': '250', 'retry-after': '30' }, 250],
    [{ 'retry-after': '120' }, 120_000],
    [{ 'retry-after': 'soon' }, undefined],
    [{}, undefined],
  ] as const)('with the headers %j asks to wait %s ms', async ([headers, ms]) => {
    answer = (_, response) => response.writeHead(429, { ...headers }).end(saying('rate_limit_error', 'slow down'))
    expect((await failureOf(call())).retryAfterMs).toBe(ms)
    expect(requests).toBe(1)
  })

  test.for([
    [400, 'invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'],
    [400, 'invalid_request_error', 'input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000'],
    [413, 'request_too_large', 'Request exceeds the maximum size'],
  ] as const)('of a request that is too long has a code of its own: %d %s %s', async ([status, type, message]) => {
    answer = (_, response) => response.writeHead(status, json).end(saying(type, message))
    expect(await failureOf(call())).toMatchObject({ code: 'context_overflow', status, retryable: false })
  })

  test('is asked for once, also where the client that was given would try again', async () => {
    answer = (_, response) =>
      response.writeHead(529, { ...json, 'retry-after-ms': '1' }).end(saying('overloaded_error', 'not now'))
    const { port } = server.address() as AddressInfo
    const client = new Anthropic({ apiKey: 'k', baseURL: `http://127.0.0.1:${port}`, maxRetries: 3 })
    const error = await partsOf(anthropic({ model: 'm1', client })).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ message: `model '127.0.0.1:${port}/m1' answered with HTTP 529: not now`, retryable: true })
    expect(requests).toBe(1)
  })
})

describe('an error frame after HTTP 200', () => {
  test.for([
    ['overloaded_error', true],
    ['api_error', true],
    ['rate_limit_error', true],
    ['invalid_request_error', false],
    ['authentication_error', false],
  ] as const)('of the type %s is retryable: %s', async ([type, retryable]) => {
    const frame = `event: error\ndata: ${saying(type, 'not now')}\n\n`
    answer = (_, response) => response.writeHead(200, { ...sse, 'request-id': 'r1' }).end(hi + frame + stop)
    const error = await failureOf(call())
    expect(error).toMatchObject({ message: "model 'acme/m1' sent an error in its stream: not now", retryable, requestId: 'r1' })
    expect(error.status).toBeUndefined()
  })

  test('that is named by its data alone, too', async () => {
    answer = (_, response) => response.writeHead(200, sse).end(`${hi}data: ${saying('overloaded_error', 'not now')}\n\n`)
    expect(await failureOf(call())).toMatchObject({ retryable: true })
  })
})

describe('an answer that is cut off', () => {
  test.for([
    ['at once', events([{ type: 'message_start', message: {} }])],
    ['in a block', hi],
    ['after a ping', hi + events([{ type: 'ping' }])],
    ['in the middle of an event', hi + ended.slice(0, 60)],
    ['before its reason', hi + events([{ type: 'message_delta', delta: { stop_reason: null } }])],
  ])('%s is a retryable failure, not an end', async ([, stream]) => {
    answer = (_, response) => response.writeHead(200, { ...sse, 'request-id': 'r1' }).end(stream)
    const message = "model 'acme/m1' ended its stream before the answer was complete: no finish reason came"
    expect(await failureOf(call())).toMatchObject({ message, code: 'model_stream_cut', retryable: true, requestId: 'r1' })
  })

  test('by a reset is a retryable failure', async () => {
    answer = (_, response) => response.writeHead(200, sse).write(hi, () => response.destroy())
    expect(await failureOf(call())).toMatchObject({ message: expect.stringContaining('lost its connection'), retryable: true })
  })

  test('by a reset, but after its reason, is whole', async () => {
    answer = (_, response) => response.writeHead(200, sse).write(hi + ended, () => response.destroy())
    const parts = []
    for await (const part of call()) parts.push(part.type)
    expect(parts).toEqual(['text_delta', 'text_end', 'finish'])
  })

  test('by a call without a name is a retryable failure', async () => {
    const nameless = events([
      { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{}' } },
    ])
    answer = (_, response) => response.writeHead(200, sse).end(nameless + ended)
    expect(await failureOf(call())).toMatchObject({
      message: "model 'acme/m1' sent a tool call without a name, with the arguments {}",
      retryable: true,
    })
  })

  test('before it began names what came instead', async () => {
    answer = (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html></html>')
    expect((await failureOf(call())).message).toBe(
      "model 'acme/m1' answered without one event of an answer, with text/html; does the baseURL point to the API?",
    )
  })
})

test('a server that cannot be reached is a retryable failure that says why', async () => {
  const gone = createServer().listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port } = gone.address() as AddressInfo
  await once(gone.close(), 'close')
  expect(await failureOf(call(undefined, port))).toMatchObject({
    message: expect.stringMatching(/^model 'acme\/m1' cannot be reached: .*ECONNREFUSED/),
    retryable: true,
  })
})

test('content that cannot be put into a request is a failure that stays', async () => {
  const content = [{ type: 'file', mediaType: 'text/plain', data: 'no base64!' }] as const
  const model = anthropic({ model: 'm1', apiKey: 'k', provider: 'acme' })
  const parts = model.stream({ messages: [{ role: 'user', content }], tools: [] }, { signal: new AbortController().signal })
  expect(await failureOf(parts)).toMatchObject({ message: expect.stringContaining('cannot be asked'), retryable: false })
})

describe('an abort', () => {
  test('before the call sends nothing', async () => {
    const parts = call(AbortSignal.abort('enough'))[Symbol.asyncIterator]()
    await expect(parts.next()).rejects.toBe('enough')
    expect(requests).toBe(0)
  })

  test.for([
    ['before the headers', () => {}],
    ['before the first event', (response: ServerResponse) => response.writeHead(200, sse).flushHeaders()],
    ['in mid-stream', (response: ServerResponse) => response.writeHead(200, sse).write(hi)],
    ['while a refusal is read', (response: ServerResponse) => response.writeHead(400, json).write('{')],
  ] as const)('%s throws its reason and closes the socket', async ([, begin]) => {
    const controller = new AbortController()
    const reason = { because: 'enough' }
    const closed = new Promise<void>((resolve) => {
      answer = (_, response) => {
        response.on('close', resolve)
        begin(response)
        setTimeout(() => controller.abort(reason), 20)
      }
    })
    const thrown: unknown = await (async () => {
      for await (const _ of call(controller.signal));
    })().catch((error: unknown) => error)
    expect(thrown).toBe(reason)
    await closed
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })
})

describe('after a call', () => {
  test.for([
    ['success', hi + ended + stop],
    ['an error frame', `${hi}event: error\ndata: {}\n\n`],
    ['a truncated stream', hi],
  ])('that came to %s, no listener is left on its signal', async ([, stream]) => {
    answer = (_, response) => response.writeHead(200, sse).end(stream)
    const { signal } = new AbortController()
    const parts = call(signal)[Symbol.asyncIterator]()
    await parts.next()
    expect(getEventListeners(signal, 'abort').length).toBe(1)
    for (let more = true; more;) more = !(await parts.next().catch(() => ({ done: true }))).done
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('that was left early, the socket is closed and no listener is left', async () => {
    const { signal } = new AbortController()
    let response: ServerResponse | undefined
    answer = (_, given) => (response = given).writeHead(200, sse).write(hi)
    for await (const _ of call(signal)) break
    if (!response?.closed) await once(response as ServerResponse, 'close')
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('that ended well, its connection serves the next one', async () => {
    answer = (_, response) => {
      response.writeHead(200, sse).write(hi + ended + stop)
      setTimeout(() => response.end(), 10)
    }
    for await (const _ of call());
    const before = connections
    for await (const _ of call());
    expect(connections).toBe(before)
  })

  test('whose server does not close after message_stop, the stream ends all the same', async () => {
    answer = (_, response) => response.writeHead(200, sse).write(hi + ended + stop)
    const parts = []
    for await (const part of call()) parts.push(part.type)
    expect(parts).toEqual(['text_delta', 'text_end', 'finish'])
  })
})
