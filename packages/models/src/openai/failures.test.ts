import { getEventListeners, once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ModelError } from '@koagent/core'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { events, hello, partsOf } from '../testing/wire.ts'
import { openai } from './openai.ts'
import { added, completed, delta, ended, message, opening } from './testing/events.ts'

const hi = events([added(0, opening), delta('output_text', 0, 'hi')])
const end = events([completed([message('hi')])])
const json = { 'content-type': 'application/json' }
const sse = { 'content-type': 'text/event-stream', 'x-request-id': 'r1' }

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

const model = (port = (server.address() as AddressInfo).port) =>
  openai({ model: 'gpt-5.2', baseURL: `http://127.0.0.1:${port}/v1`, provider: 'acme' })

async function failure(port?: number): Promise<ModelError> {
  const error: unknown = await partsOf(model(port)).then(
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
    answer = (_, response) => response.writeHead(status, { ...json, 'x-request-id': 'r1', ...headers }).end(body)
    expect(await failure()).toMatchObject({
      message: `model 'acme/gpt-5.2' answered with HTTP ${status}: slow down`,
      status,
      provider: 'acme',
      requestId: 'r1',
      ...expected,
    })
    expect(requests).toBe(1)
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
    ['a response to a bad prompt', failed({ code: 'invalid_prompt', message: 'no more' }), false],
  ] as const)('by %s', async ([, event, retryable]) => {
    answer = (_, response) => response.writeHead(200, sse).end(hi + events([event]) + end)
    const message = "model 'acme/gpt-5.2' sent an error in its stream: no more"
    expect(await failure()).toMatchObject({ message, retryable, provider: 'acme', requestId: 'r1' })
  })

  test('by a failed response without a reason', async () => {
    answer = (_, response) => response.writeHead(200, sse).end(hi + events([failed(null)]))
    const message = "model 'acme/gpt-5.2' sent an error in its stream: the response failed, without a word"
    expect(await failure()).toMatchObject({ message, retryable: true })
  })

  test('by a call without a name', async () => {
    answer = (_, response) =>
      response.writeHead(200, sse).end(events([ended(0, { type: 'function_call', arguments: '{}' }), completed()]))
    const message = "model 'acme/gpt-5.2' sent a tool call without a name, with the arguments {}"
    expect(await failure()).toMatchObject({ message, retryable: true })
  })

  test.for([
    ['after a delta', hi],
    ['after the last item', hi + events([ended(0, message('hi'))])],
    ['in the last event', hi + end.slice(0, 60)],
  ])('by an end %s, before the last event', async ([, stream]) => {
    answer = (_, response) => response.writeHead(200, sse).end(stream)
    expect(await failure()).toMatchObject({ code: 'model_stream_cut', retryable: true, requestId: 'r1' })
  })

  test('by a reset', async () => {
    answer = (_, response) => response.writeHead(200, sse).write(hi, () => response.destroy())
    expect(await failure()).toMatchObject({ code: 'model_stream_cut', message: expect.stringContaining('lost its connection') })
  })
})

test('a server that cannot be reached is a retryable failure', async () => {
  const gone = createServer().listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port } = gone.address() as AddressInfo
  await once(gone.close(), 'close')
  expect(await failure(port)).toMatchObject({ message: expect.stringContaining('ECONNREFUSED'), retryable: true })
})

describe('an abort', () => {
  test.for([
    ['before the headers', () => {}],
    ['in mid-stream', (response: ServerResponse) => response.writeHead(200, sse).write(hi)],
  ] as const)('%s throws its reason, closes the socket and leaves no listener', async ([, begin]) => {
    const controller = new AbortController()
    const reason = { because: 'enough' }
    const closed = new Promise<void>((resolve) => {
      answer = (_, response) => {
        response.on('close', resolve)
        begin(response)
        setTimeout(() => controller.abort(reason), 20)
      }
    })
    await expect(partsOf(model(), hello, controller.signal)).rejects.toBe(reason)
    await closed
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })
})

describe('after the last event', () => {
  test('nothing is waited for, though the body never ends', async () => {
    let response: ServerResponse | undefined
    answer = (_, given) => (response = given).writeHead(200, sse).write(hi + end)
    expect((await partsOf(model())).at(-1)).toEqual({ type: 'finish', reason: 'stop', rawReason: 'completed' })
    if (!response?.closed) await once(response as ServerResponse, 'close')
  })

  test('the connection serves the next call', async () => {
    answer = (_, response) => {
      response.writeHead(200, sse).write(hi + end)
      setTimeout(() => response.end(), 10)
    }
    await partsOf(model())
    const before = connections
    await partsOf(model())
    expect(connections).toBe(before)
  })
})
