import Anthropic from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import { json, sse, testServer } from '../testing/server.ts'
import { events, hello, partsOf } from '../testing/wire.ts'
import { anthropic } from './anthropic.ts'

const server = testServer()
const model = () => anthropic({ baseURL: `http://127.0.0.1:${server.port}`, model: 'm1', provider: 'acme' })
const hi = events([
  { type: 'message_start', message: {} },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'hi' } },
])
const saying = (type: string, message: string): string =>
  JSON.stringify({ type: 'error', error: { type, message }, request_id: 'r2' })

describe('a refusal', () => {
  test('has its id in a header of its own', async () => {
    server.answer = (_, response) => response.writeHead(529, { 'request-id': 'r2' }).end(saying('overloaded_error', 'not now'))
    await expect(partsOf(model())).rejects.toMatchObject({ status: 529, retryable: true, requestId: 'r2' })
  })

  test.for([
    [400, 'invalid_request_error', 'input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000'],
    [413, 'request_too_large', 'Request exceeds the maximum size'],
  ] as const)('of a request that is too long has a code of its own: %d %s %s', async ([status, type, message]) => {
    server.answer = (_, response) => response.writeHead(status, json).end(saying(type, message))
    await expect(partsOf(model())).rejects.toMatchObject({ code: 'context_overflow', status, retryable: false })
  })

  test('is asked for once, also where the client that was given would try again', async () => {
    server.answer = (_, response) =>
      response.writeHead(529, { ...json, 'retry-after-ms': '1' }).end(saying('overloaded_error', 'not now'))
    const client = new Anthropic({ apiKey: 'k', baseURL: `http://127.0.0.1:${server.port}`, maxRetries: 3 })
    const message = `model '127.0.0.1:${server.port}/m1' answered with HTTP 529: not now`
    await expect(partsOf(anthropic({ model: 'm1', client }))).rejects.toMatchObject({ message, retryable: true })
    expect(server.requests).toBe(1)
  })
})

test.for([
  ['{"type":"error","error":{"type":"validationException","message":"not now"}}', false],
  ['{"type":"error","error":{"type":"throttlingException","message":"not now"}}', true],
] as const)("an error frame in Bedrock's words, %s, is retryable: %s", async ([frame, retryable]) => {
  server.answer = (_, response) => response.writeHead(200, sse).end(`${hi}event: error\ndata: ${frame}\n\n`)
  await expect(partsOf(model())).rejects.toMatchObject({ retryable, message: expect.stringContaining('not now') })
})

test.for([
  ['at once', events([{ type: 'message_start', message: {} }])],
  ['after a ping', hi + events([{ type: 'ping' }])],
  ['before its reason', hi + events([{ type: 'message_delta', delta: { stop_reason: null } }])],
])('an answer that ends %s was cut off', async ([, stream]) => {
  server.answer = (_, response) => response.writeHead(200, sse).end(stream)
  await expect(partsOf(model())).rejects.toMatchObject({ code: 'model_stream_cut', retryable: true })
})

test('content that cannot be put into a request is a failure that stays', async () => {
  const content = [{ type: 'file', mediaType: 'text/plain', data: 'no base64!' }] as const
  await expect(partsOf(model(), { ...hello, messages: [{ role: 'user', content }] })).rejects.toMatchObject({
    message: expect.stringContaining('cannot be asked'),
    retryable: false,
  })
})
