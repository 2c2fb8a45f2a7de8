import { expect, test } from 'vitest'
import { sse, testServer } from '../testing/server.ts'
import { events, hello, partsOf } from '../testing/wire.ts'
import { anthropic } from './anthropic.ts'

const server = testServer()
const model = () => anthropic({ baseURL: `http://127.0.0.1:${server.port}`, model: 'm1', provider: 'acme' })
const hi = events([
  { type: 'message_start', message: {} },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: 'hi' } },
])

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
