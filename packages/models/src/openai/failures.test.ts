import { describe, expect, test } from 'vitest'
import { sse, testServer } from '../testing/server.ts'
import { events, partsOf } from '../testing/wire.ts'
import { openai } from './openai.ts'
import { added, completed, delta, ended, message, opening } from './testing/events.ts'

const server = testServer()
const hi = events([added(0, opening), delta('output_text', 0, 'hi')])
const end = events([completed([message('hi')])])

const model = () => openai({ model: 'gpt-5.2', baseURL: `http://127.0.0.1:${server.port}/v1`, provider: 'acme' })

describe('a failure after HTTP 200', () => {
  const failed = (error: unknown) => ({ type: 'response.failed', response: { status: 'failed', error, output: [message('hi')] } })
  test.for([
    ['an error', { type: 'error', code: 'rate_limit_exceeded', message: 'no more', param: null }, true],
    [
      'an error with an object',
      { type: 'error', error: { type: 'server_error', code: 'server_error', message: 'no more' } },
      true,
    ],
    ['an error of an empty account', { type: 'error', error: { type: 'insufficient_quota', message: 'no more' } }, false],
    ['a failed response', failed({ code: 'server_error', message: 'no more' }), true],
    ['a response over the rate', failed({ code: 'rate_limit_exceeded', message: 'no more' }), true],
    ['a response of an empty account', failed({ code: 'insufficient_quota', message: 'no more' }), false],
    ['a response to a bad image', failed({ code: 'image_too_large', message: 'no more' }), false],
    ['a response that a policy forbids', failed({ code: 'bio_policy', message: 'no more' }), false],
    ['a response to a bad prompt', failed({ code: 'invalid_prompt', message: 'no more' }), false],
  ] as const)('by %s', async ([, event, retryable]) => {
    server.answer = (_, response) => response.writeHead(200, sse).end(hi + events([event]) + end)
    const message = "model 'acme/gpt-5.2' sent an error in its stream: no more"
    await expect(partsOf(model())).rejects.toMatchObject({ message, retryable, provider: 'acme', requestId: 'r1' })
  })

  test('by a failed response without a reason', async () => {
    server.answer = (_, response) => response.writeHead(200, sse).end(hi + events([failed(null)]))
    const message = "model 'acme/gpt-5.2' sent an error in its stream: the response failed, without a word"
    await expect(partsOf(model())).rejects.toMatchObject({ message, retryable: true })
  })

  test('by an end after the last item, before the last event', async () => {
    server.answer = (_, response) => response.writeHead(200, sse).end(hi + events([ended(0, message('hi'))]))
    await expect(partsOf(model())).rejects.toMatchObject({ code: 'model_stream_cut', retryable: true, requestId: 'r1' })
  })
})
