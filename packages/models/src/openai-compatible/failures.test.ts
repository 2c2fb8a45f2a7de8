import { getEventListeners, once } from 'node:events'
import { createServer } from 'node:http'
import type { RequestListener, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ModelError } from '@koagent/core'
import type { ModelPart } from '@koagent/core'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { openaiCompatible } from './openai-compatible.ts'

const hi = 'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
const end = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
const done = 'data: [DONE]\n\n'
const json = { 'content-type': 'application/json' }
const sse = { 'content-type': 'text/event-stream' }

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
  const model = openaiCompatible({ baseURL: `http://127.0.0.1:${port}/v1`, model: 'm1', provider: 'acme' })
  return model.stream({ messages: [], tools: [] }, { signal })
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
    [400, false],
    [401, false],
    [403, false],
    [404, false],
    [408, true],
    [409, true],
    [422, false],
    [425, true],
    [429, true],
    [500, true],
    [503, true],
    [529, true],
  ] as const)('with HTTP %d is retryable: %s, and asked for once', async ([status, retryable]) => {
    answer = (_, response) =>
      response.writeHead(status, { ...json, 'x-request-id': 'r1' }).end('{"error":{"message":"not now","code":"c1"}}')
    expect(await failureOf(call())).toMatchObject({
      message: `model 'acme/m1' answered with HTTP ${status}: not now`,
      name: 'ModelError',
      code: 'model',
      status,
      retryable,
      provider: 'acme',
      requestId: 'r1',
    })
    expect(requests).toBe(1)
  })

  test.for([
    ['{"error":"so it is"}', 'so it is'],
    ['{"message":"so it is","object":"error"}', 'so it is'],
    ['{"detail":"so it is"}', 'so it is'],
    ['{"detail":[{"msg":"so it is"}]}', '{"detail":[{"msg":"so it is"}]}'],
    ['[{"error":{"code":400,"message":"so it is","status":"INVALID"}}]', 'so it is'],
    ['{"error":{"message":"Provider returned error","metadata":{"raw":"so it is"}}}', 'Provider returned error: so it is'],
    ['<html>so it is</html>', '<html>so it is</html>'],
    ['so it is', 'so it is'],
  ])('that says %s is quoted', async ([body, words]) => {
    answer = (_, response) => response.writeHead(400, json).end(body)
    expect((await failureOf(call())).message).toBe(`model 'acme/m1' answered with HTTP 400: ${words}`)
  })

  test('without a word says so', async () => {
    answer = (_, response) => response.writeHead(502).end()
    expect((await failureOf(call())).message).toBe("model 'acme/m1' answered with HTTP 502, without a word")
  })

  test.for([
    [{ 'retry-after-ms': '0', 'retry-after': '30' }, 0],
    [{ 'retry-after': '120' }, 120_000],
    [{ 'retry-after': '1.5' }, undefined],
    [{}, undefined],
  ] as const)('with the headers %j asks to wait %s ms', async ([headers, ms]) => {
    answer = (_, response) => response.writeHead(429, { ...headers }).end()
    expect((await failureOf(call())).retryAfterMs).toBe(ms)
  })

  test('can say whether to retry', async () => {
    answer = (_, response) => response.writeHead(429, { 'x-should-retry': 'false' }).end()
    expect((await failureOf(call())).retryable).toBe(false)
    answer = (_, response) => response.writeHead(400, { 'x-should-retry': 'true' }).end()
    expect((await failureOf(call())).retryable).toBe(true)
  })

  test('of a call that the model wrote wrongly is retryable', async () => {
    answer = (_, response) =>
      response.writeHead(400, json).end('{"error":{"message":"no","type":"invalid_request_error","code":"tool_use_failed"}}')
    expect(await failureOf(call())).toMatchObject({ status: 400, retryable: true })
  })

  test('for an empty account is not retryable', async () => {
    answer = (_, response) => response.writeHead(429, json).end('{"error":{"message":"pay first","code":"insufficient_quota"}}')
    expect((await failureOf(call())).retryable).toBe(false)
  })

  test('of a request that is too long has a code of its own', async () => {
    answer = (_, response) =>
      response.writeHead(400, json).end('{"error":{"message":"too long","code":"context_length_exceeded"}}')
    expect(await failureOf(call())).toMatchObject({ code: 'context_overflow', status: 400, retryable: false })
  })
})

describe('an error frame after HTTP 200', () => {
  test.for([
    ['data: {"error":{"message":"overloaded","type":"server_error"}}\n\n', { retryable: true }],
    ['data: {"error":{"message":"overloaded","code":502}}\n\n', { retryable: true, status: 502 }],
    ['data: {"error":{"message":"overloaded","code":"401"}}\n\n', { retryable: false, status: 401 }],
    ['data: {"error":{"message":"overloaded","type":"invalid_request_error"}}\n\n', { retryable: false }],
    ['data: {"error":"overloaded"}\n\n', { retryable: true }],
    [
      'data: {"choices":[{"delta":{"content":""},"finish_reason":"error"}],"error":{"message":"overloaded"}}\n\n',
      { retryable: true },
    ],
    ['event: error\ndata: {"message":"overloaded"}\n\n', { retryable: true }],
    ['event: error\ndata: overloaded\n\n', { retryable: true }],
    ['data: {"object":"error","message":"overloaded","code":400}\n\n', { retryable: false, status: 400 }],
    ['data: {"detail":"overloaded"}\n\n', { retryable: true }],
    ['data: {"error":{"message":"overloaded","code":429}}\n\n', { retryable: true, status: 429 }],
    ['data: {"error":{"message":"overloaded","code":404.5}}\n\n', { retryable: true }],
    ['data: {"message":"overloaded","code":"InvalidParameter","status":400}\n\n', { retryable: false, status: 400 }],
    ['data: {"code":500,"msg":"overloaded","success":false}\n\n', { retryable: true, status: 500 }],
    ['data: {"choices":null,"base_resp":{"status_code":1002,"status_msg":"overloaded"}}\n\n', { retryable: true }],
    ['data: [{"error":{"code":400,"message":"overloaded","status":"INVALID"}}]\n\n', { retryable: false, status: 400 }],
    ['data: data: {"error":"overloaded"}\n\n', { retryable: true }],
    ['data: {"error":{"message":"overloaded","type":"invalid_request_error","code":"tool_use_failed"}}\n\n', { retryable: true }],
  ] as const)('%j is a failure', async ([frame, expected]) => {
    answer = (_, response) => response.writeHead(200, { ...sse, 'x-request-id': 'r1' }).end(hi + frame + done)
    const error = await failureOf(call())
    expect(error).toMatchObject({
      message: "model 'acme/m1' sent an error in its stream: overloaded",
      requestId: 'r1',
      ...expected,
    })
    if (!('status' in expected)) expect(error.status).toBeUndefined()
  })
})

describe('an error where an answer was to begin, after HTTP 200', () => {
  test.for([
    ['{"error":{"message":"overloaded","code":503}}', { retryable: true, status: 503 }],
    ['\n  {\n  "detail": "overloaded"\n}\n', { retryable: true }],
    ['[{"error":{"code":429,"message":"overloaded"}}]', { retryable: true, status: 429 }],
  ] as const)('%j is a failure', async ([body, expected]) => {
    answer = (_, response) => response.writeHead(200, json).end(body)
    expect(await failureOf(call())).toMatchObject({
      message: "model 'acme/m1' sent an error in its stream: overloaded",
      ...expected,
    })
  })
})

describe('an answer that is cut off', () => {
  test.for([
    ['after a chunk', hi],
    ['after a comment', `${hi}: ping\n\n`],
    ['in the middle of a chunk', hi + end.slice(0, 30)],
    ['in the middle of [DONE]', `${hi}data: [DO`],
  ])('%s is a retryable failure, not an end', async ([, stream]) => {
    answer = (_, response) => response.writeHead(200, { ...sse, 'x-request-id': 'r1' }).end(stream)
    const message = "model 'acme/m1' ended its stream before the answer was complete: no finish reason came"
    expect(await failureOf(call())).toMatchObject({ message, code: 'model_stream_cut', retryable: true, requestId: 'r1' })
  })

  test('by a reset is a retryable failure', async () => {
    answer = (_, response) => response.writeHead(200, sse).write(hi, () => response.destroy())
    expect(await failureOf(call())).toMatchObject({ message: expect.stringContaining('lost its connection'), retryable: true })
  })

  test('by a reset, but after the finish reason, is whole', async () => {
    answer = (_, response) => response.writeHead(200, sse).write(hi + end, () => response.destroy())
    const parts = []
    for await (const part of call()) parts.push(part.type)
    expect(parts).toEqual(['text_delta', 'finish'])
  })

  test('by broken JSON in mid-stream is a retryable failure', async () => {
    answer = (_, response) => response.writeHead(200, sse).end(`${hi}data: {"choices":[{\n\n${end}`)
    expect(await failureOf(call())).toMatchObject({
      message: `model 'acme/m1' sent a payload that is no JSON: {"choices":[{`,
      retryable: true,
    })
  })

  test('by a call without a name is a retryable failure', async () => {
    const nameless = 'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]}}]}\n\n'
    answer = (_, response) => response.writeHead(200, sse).end(nameless + end)
    expect(await failureOf(call())).toMatchObject({
      message: "model 'acme/m1' sent a tool call without a name, with the arguments {}",
      retryable: true,
    })
  })

  test.for([['<html>\n<body>Sign in: {"choices":[]}</body>\n</html>'], [''], [' \n'], ['{"choices":[{'], ['{"a":1'], ['null']])(
    'before it began, by %j, names what came instead',
    async ([body]) => {
      answer = (_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(body)
      expect(await failureOf(call())).toMatchObject({
        message: "model 'acme/m1' answered without one event of an answer, with text/html; does the baseURL point to the API?",
        code: 'model_garbage',
        retryable: true,
      })
    },
  )
})

test('a server that cannot be reached is a retryable failure that says why', async () => {
  const gone = createServer().listen(0, '127.0.0.1')
  await once(gone, 'listening')
  const { port } = gone.address() as AddressInfo
  await once(gone.close(), 'close')
  const error = await failureOf(call(undefined, port))
  expect(error).toMatchObject({
    message: expect.stringMatching(/^model 'acme\/m1' cannot be reached: .*ECONNREFUSED/),
    retryable: true,
  })
})

test('a failure at several addresses says what the first one was', async () => {
  const refused = new AggregateError([new Error('connect ECONNREFUSED ::1:9'), new Error('connect ECONNREFUSED 127.0.0.1:9')])
  const fetch = (): Promise<Response> => Promise.reject(new TypeError('fetch failed', { cause: refused }))
  const model = openaiCompatible({ baseURL: 'http://localhost:9/v1', model: 'm1', provider: 'acme', fetch })
  const error = await failureOf(model.stream({ messages: [], tools: [] }, { signal: new AbortController().signal }))
  expect(error.message).toBe("model 'acme/m1' cannot be reached: connect ECONNREFUSED ::1:9")
})

describe('an abort', () => {
  test('before the call sends nothing', async () => {
    const parts = call(AbortSignal.abort('enough'))[Symbol.asyncIterator]()
    await expect(parts.next()).rejects.toBe('enough')
    expect(requests).toBe(0)
  })

  test.for([
    ['before the headers', () => {}],
    ['before the first chunk', (response: ServerResponse) => response.writeHead(200, sse).flushHeaders()],
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

  test.for([
    ['waits for a key', { apiKey: () => new Promise<string>(() => {}) }],
    ['waits for a `fetch` that does not look at its signal', { fetch: () => new Promise<Response>(() => {}) }],
    ['reads a body that does not look at it', { fetch: () => Promise.resolve(new Response(new ReadableStream())) }],
  ] as const)('while the call %s throws its reason', async ([, options]) => {
    const controller = new AbortController()
    const model = openaiCompatible({ baseURL: 'http://acme.test/v1', model: 'm1', ...options })
    setTimeout(() => controller.abort('enough'), 10)
    const parts = model.stream({ messages: [], tools: [] }, { signal: controller.signal })[Symbol.asyncIterator]()
    await expect(parts.next()).rejects.toBe('enough')
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  test('closes a response that comes too late', async () => {
    const controller = new AbortController()
    const cancel = vi.fn<() => void>()
    let parts: Promise<unknown> | undefined
    const respond = new Promise<() => void>((begun) => {
      const fetch = (): Promise<Response> =>
        new Promise((resolve) => begun(() => resolve(new Response(new ReadableStream({ cancel })))))
      const model = openaiCompatible({ baseURL: 'http://acme.test/v1', model: 'm1', fetch })
      parts = model.stream({ messages: [], tools: [] }, { signal: controller.signal })[Symbol.asyncIterator]().next()
    })
    const answerLate = await respond
    controller.abort('enough')
    await expect(parts).rejects.toBe('enough')
    answerLate()
    await vi.waitFor(() => expect(cancel).toHaveBeenCalledOnce())
  })

  test('between two parts of one chunk is seen before the second', async () => {
    answer = (_, response) => response.writeHead(200, sse).end(hi + hi + end + done)
    const controller = new AbortController()
    const parts = call(controller.signal)[Symbol.asyncIterator]()
    await parts.next()
    controller.abort('enough')
    await expect(parts.next()).rejects.toBe('enough')
  })
})

describe('after a call', () => {
  test.for([
    ['success', hi + end + done],
    ['an error frame', `${hi}data: {"error":{"message":"no"}}\n\n`],
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
      response.writeHead(200, sse).write(hi + end + done)
      setTimeout(() => response.end(), 10)
    }
    for await (const _ of call());
    const before = connections
    for await (const _ of call());
    expect(connections).toBe(before)
  })

  test('whose server goes on for ever after [DONE], the stream ends all the same', async () => {
    const pieces = [hi + end + done]
    const body = new ReadableStream({
      pull: (controller) => controller.enqueue(new TextEncoder().encode(pieces.pop() ?? ': ping\n\n')),
    })
    const model = openaiCompatible({
      baseURL: 'http://acme.test/v1',
      model: 'm1',
      fetch: () => Promise.resolve(new Response(body)),
    })
    const parts = []
    for await (const part of model.stream({ messages: [], tools: [] }, { signal: new AbortController().signal }))
      parts.push(part.type)
    expect(parts).toEqual(['text_delta', 'finish'])
  })

  test('whose server does not close after [DONE], the stream ends all the same', async () => {
    let response: ServerResponse | undefined
    answer = (_, given) => (response = given).writeHead(200, sse).write(hi + end + done)
    const parts = []
    for await (const part of call()) parts.push(part.type)
    expect(parts).toEqual(['text_delta', 'finish'])
    if (!response?.closed) await once(response as ServerResponse, 'close')
  })
})
