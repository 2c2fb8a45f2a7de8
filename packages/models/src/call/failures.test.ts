import { ModelError } from '@koagent/core'
import type { Model } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { protocols } from '../testing/protocols.ts'
import { deadPort, json, sse, testServer } from '../testing/server.ts'
import { events, partsOf } from '../testing/wire.ts'

const server = testServer()

describe.for(protocols)('$name:', ({ modelAt, throughClientAt, hi, end, done, error, nameless }) => {
  const answers = (status: number, headers: Record<string, string>, body = ''): void => {
    server.answer = (_, response) => response.writeHead(status, headers).end(body)
  }

  async function failure(model: Model = modelAt({ port: server.port })): Promise<ModelError> {
    const thrown: unknown = await partsOf(model).then(
      (parts) => parts,
      (reason: unknown) => reason,
    )
    expect(thrown).toBeInstanceOf(ModelError)
    return thrown as ModelError
  }

  describe('a refusal', () => {
    test.for([
      [400, 'invalid_request_error', false],
      [401, 'authentication_error', false],
      [403, 'permission_error', false],
      [404, 'not_found_error', false],
      [408, 'timeout_error', true],
      [409, 'conflict', true],
      [422, 'invalid_request_error', false],
      [425, 'too_early', true],
      [429, 'rate_limit_error', true],
      [500, 'api_error', true],
      [503, 'server_error', true],
      [504, 'timeout_error', true],
      [529, 'overloaded_error', true],
    ] as const)('with HTTP %d, %s, is retryable: %s, and asked for once', async ([status, type, retryable]) => {
      answers(status, json, JSON.stringify(error(type, 'not now')))
      expect(await failure()).toMatchObject({
        message: `model 'acme/m1' answered with HTTP ${status}: not now`,
        name: 'ModelError',
        code: 'model',
        status,
        retryable,
        provider: 'acme',
        requestId: 'r1',
      })
      expect(server.requests).toBe(1)
    })

    test.for([
      ['{"error":"so it is"}', 'so it is'],
      ['{"message":"so it is","object":"error"}', 'so it is'],
      ['{"message":"so it is"}', 'so it is'],
      ['{"detail":"so it is"}', 'so it is'],
      ['{"detail":[{"msg":"so it is"}]}', '{"detail":[{"msg":"so it is"}]}'],
      ['[{"error":{"code":400,"message":"so it is","status":"INVALID"}}]', 'so it is'],
      ['{"error":{"message":"Provider returned error","metadata":{"raw":"so it is"}}}', 'Provider returned error: so it is'],
      ['"so it is"', 'so it is'],
      ['<html>so it is</html>', '<html>so it is</html>'],
      ['so it is', 'so it is'],
    ])('that says %s is quoted', async ([body, words]) => {
      answers(400, json, body)
      expect((await failure()).message).toBe(`model 'acme/m1' answered with HTTP 400: ${words}`)
    })

    test('without a word says so', async () => {
      answers(502, {})
      expect((await failure()).message).toBe("model 'acme/m1' answered with HTTP 502, without a word")
    })

    test.for([
      [{ 'retry-after-ms': '0', 'retry-after': '30' }, 0],
      [{ 'retry-after-ms': '250', 'retry-after': '30' }, 250],
      [{ 'retry-after': '120' }, 120_000],
      [{ 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }, 86_400_000],
      [{ 'retry-after': 'Sun, 06 Nov 1994 08:49:37 GMT' }, 0],
      [{ 'retry-after': '-3' }, undefined],
      [{ 'retry-after': 'soon' }, undefined],
      [{}, undefined],
    ] as const)('with the headers %j asks to wait %s ms', async ([headers, ms]) => {
      answers(429, { ...headers })
      expect((await failure()).retryAfterMs).toBe(ms)
      expect(server.requests).toBe(1)
    })

    test('can say whether to retry', async () => {
      answers(429, { 'x-should-retry': 'false' })
      expect((await failure()).retryable).toBe(false)
      answers(400, { 'x-should-retry': 'true' })
      expect((await failure()).retryable).toBe(true)
    })

    test.for([
      ['context_length_exceeded', 400, { code: 'context_overflow', retryable: false }],
      ['insufficient_quota', 429, { code: 'model', retryable: false }],
      ['tool_use_failed', 400, { code: 'model', retryable: true }],
      ['json_validate_failed', 400, { code: 'model', retryable: true }],
    ] as const)('with the code %s goes by it', async ([code, status, expected]) => {
      answers(status, json, JSON.stringify({ error: { message: 'not now', type: 'invalid_request_error', code } }))
      expect(await failure()).toMatchObject({ status, ...expected })
    })

    test.for(['x-request-id', 'request-id', 'x-amzn-requestid'])('has the id of its header %s', async (header) => {
      answers(529, { [header]: 'r2' })
      expect((await failure()).requestId).toBe('r2')
    })

    test.for(throughClientAt ? [throughClientAt] : [])(
      'is asked for once, also where the client that was given would try again',
      async (clientAt) => {
        answers(503, { ...json, 'retry-after-ms': '1' }, JSON.stringify(error('server_error', 'not now')))
        expect(await failure(clientAt(server.port))).toMatchObject({
          message: "model 'acme/m1' answered with HTTP 503: not now",
          status: 503,
          retryable: true,
          retryAfterMs: 1,
          requestId: 'r1',
        })
        expect(server.requests).toBe(1)
      },
    )

    test.for([
      [400, 'prompt is too long: 210000 tokens > 200000 maximum'],
      [400, "this model's maximum context length is 8192 tokens"],
      [400, 'input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000'],
      [413, 'Request exceeds the maximum size'],
    ] as const)('of a request that is too long has a code of its own: %d %s', async ([status, message]) => {
      answers(status, json, JSON.stringify(error('invalid_request_error', message)))
      expect(await failure()).toMatchObject({ code: 'context_overflow', status, retryable: false })
    })
  })

  describe('an error frame after HTTP 200', () => {
    test.for([
      ['server_error', true],
      ['api_error', true],
      ['overloaded_error', true],
      ['rate_limit_error', true],
      ['invalid_request_error', false],
      ['authentication_error', false],
      ['insufficient_quota', false],
    ] as const)('of the type %s is retryable: %s', async ([type, retryable]) => {
      for (const frame of [
        events([error(type, 'not now')]),
        `event: error\ndata: ${JSON.stringify(error(type, 'not now'))}\n\n`,
      ]) {
        answers(200, sse, hi + frame + end + done)
        const thrown = await failure()
        expect(thrown).toMatchObject({
          message: "model 'acme/m1' sent an error in its stream: not now",
          retryable,
          requestId: 'r1',
        })
        expect(thrown.status).toBeUndefined()
      }
    })

    test('for a request that is too long has a code of its own', async () => {
      answers(200, sse, events([error('server_error', 'prompt is too long: 210000 tokens > 200000 maximum')]))
      expect(await failure()).toMatchObject({ code: 'context_overflow', retryable: false })
    })

    test('that holds nothing but words is retryable', async () => {
      answers(200, sse, `${hi}event: error\ndata: not now\n\n${end}${done}`)
      const message = "model 'acme/m1' sent an error in its stream: not now"
      expect(await failure()).toMatchObject({ message, retryable: true, requestId: 'r1' })
    })
  })

  describe('an answer that is cut off', () => {
    test.for([
      ['after its text', hi],
      ['after a comment', `${hi}: ping\n\n`],
      ['in the middle of an event', hi + end.slice(0, 60)],
    ])('%s is a retryable failure, not an end', async ([, stream]) => {
      answers(200, sse, stream)
      const message = "model 'acme/m1' ended its stream before the answer was complete: no finish reason came"
      expect(await failure()).toMatchObject({ message, code: 'model_stream_cut', retryable: true, requestId: 'r1' })
    })

    test('by a reset is a retryable failure', async () => {
      server.answer = (_, response) => response.writeHead(200, sse).write(hi, () => response.destroy())
      const message: unknown = expect.stringContaining('lost its connection')
      expect(await failure()).toMatchObject({ message, code: 'model_stream_cut', retryable: true })
    })

    test('by a reset, but after its reason, is whole', async () => {
      server.answer = (_, response) => response.writeHead(200, sse).write(hi + end, () => response.destroy())
      const parts = await partsOf(modelAt({ port: server.port }))
      expect(parts[0]).toEqual({ type: 'text_delta', text: 'hi' })
      expect(parts.at(-1)).toMatchObject({ type: 'finish', reason: 'stop' })
    })

    test('by broken JSON in mid-stream is a retryable failure', async () => {
      answers(200, sse, `${hi}data: {"a":[{\n\n${end}`)
      expect(await failure()).toMatchObject({
        message: `model 'acme/m1' sent a payload that is no JSON: {"a":[{`,
        code: 'model_garbage',
        retryable: true,
      })
    })

    test('by a call without a name is a retryable failure', async () => {
      answers(200, sse, nameless)
      const message = "model 'acme/m1' sent a tool call without a name, with the arguments {}"
      expect(await failure()).toMatchObject({ message, retryable: true })
    })

    test.for([['<html>\n<body>Sign in: {"choices":[]}</body>\n</html>'], [''], [' \n'], ['{"choices":[{'], ['{"a":1'], ['null']])(
      'before it began, by %j, names what came instead',
      async ([body]) => {
        answers(200, { 'content-type': 'text/html' }, body)
        expect(await failure()).toMatchObject({
          message: "model 'acme/m1' answered without one event of an answer, with text/html; does the baseURL point to the API?",
          code: 'model_garbage',
          retryable: true,
        })
      },
    )
  })

  test('a server that cannot be reached is a retryable failure that says why', async () => {
    expect(await failure(modelAt({ port: await deadPort() }))).toMatchObject({
      message: expect.stringMatching(/^model 'acme\/m1' cannot be reached: .*ECONNREFUSED/),
      retryable: true,
    })
  })

  test('a failure at several addresses says what the first one was', async () => {
    const refused = new AggregateError([new Error('connect ECONNREFUSED ::1:9'), new Error('connect ECONNREFUSED 127.0.0.1:9')])
    const model = modelAt({ fetch: () => Promise.reject(new TypeError('fetch failed', { cause: refused })) })
    expect((await failure(model)).message).toBe("model 'acme/m1' cannot be reached: connect ECONNREFUSED ::1:9")
  })
})
