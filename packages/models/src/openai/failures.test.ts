import { ModelError } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { json, sse, testServer } from '../testing/server.ts'
import { events, partsOf } from '../testing/wire.ts'
import { openai } from './openai.ts'
import { added, completed, delta, ended, message, opening } from './testing/events.ts'

const server = testServer()
const hi = events([added(0, opening), delta('output_text', 0, 'hi')])
const end = events([completed([message('hi')])])

async function failure(): Promise<ModelError> {
  const model = openai({ model: 'gpt-5.2', baseURL: `http://127.0.0.1:${server.port}/v1`, provider: 'acme' })
  const error: unknown = await partsOf(model).then(
    () => 'it did not fail',
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(ModelError)
  return error as ModelError
}

describe('a refusal', () => {
  test.for([
    [
      429,
      { 'retry-after': '30' },
      '{"error":{"message":"slow down","type":"requests","code":"rate_limit_exceeded"}}',
      { retryable: true, retryAfterMs: 30_000 },
    ],
    [429, {}, '{"error":{"message":"slow down","type":"insufficient_quota","code":"insufficient_quota"}}', { retryable: false }],
    [
      400,
      {},
      '{"error":{"message":"slow down","code":"context_length_exceeded","param":"input"}}',
      { retryable: false, code: 'context_overflow' },
    ],
    [401, {}, '{"error":{"message":"slow down","code":"invalid_api_key"}}', { retryable: false }],
    [503, { 'retry-after-ms': '5' }, 'slow down', { retryable: true, retryAfterMs: 5 }],
  ] as const)('with HTTP %d, %j and %s', async ([status, headers, body, expected]) => {
    server.answer = (_, response) => response.writeHead(status, { ...json, ...headers }).end(body)
    expect(await failure()).toMatchObject({
      message: `model 'acme/gpt-5.2' answered with HTTP ${status}: slow down`,
      status,
      provider: 'acme',
      requestId: 'r1',
      ...expected,
    })
    expect(server.requests).toBe(1)
  })
})

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
    expect(await failure()).toMatchObject({ message, retryable, provider: 'acme', requestId: 'r1' })
  })

  test('by a failed response without a reason', async () => {
    server.answer = (_, response) => response.writeHead(200, sse).end(hi + events([failed(null)]))
    const message = "model 'acme/gpt-5.2' sent an error in its stream: the response failed, without a word"
    expect(await failure()).toMatchObject({ message, retryable: true })
  })

  test('by an end after the last item, before the last event', async () => {
    server.answer = (_, response) => response.writeHead(200, sse).end(hi + events([ended(0, message('hi'))]))
    expect(await failure()).toMatchObject({ code: 'model_stream_cut', retryable: true, requestId: 'r1' })
  })
})
