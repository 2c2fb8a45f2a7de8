import { getEventListeners } from 'node:events'
import { ConfigError, ModelError } from '@koagent/core'
import type { ModelPart } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { hello, partsOf } from '../testing/wire.ts'
import { fromAISDK } from './ai-sdk.ts'
import type { AISDKModel } from './ai-sdk.ts'
import { answering, finishPart, standIn, text, toolCall, versions } from './testing/stand-in.ts'

/** An error of the AI SDK as another copy of it would make it. */
function sdkError(name: string, message: string, fields: object = {}): Error {
  const error = Object.assign(new Error(message), fields, {
    [Symbol.for('vercel.ai.error')]: true,
    [Symbol.for(`vercel.ai.error.${name}`)]: true,
  })
  return Object.assign(error, { name })
}

function apiError(statusCode: number | undefined, fields: object = {}): Error {
  return sdkError('AI_APICallError', 'its message', { statusCode, isRetryable: (statusCode ?? 500) >= 429, ...fields })
}

async function failureOf(model: AISDKModel): Promise<ModelError> {
  const error: unknown = await partsOf(fromAISDK(model)).catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(ModelError)
  return error as ModelError
}

function failing(error: unknown): AISDKModel {
  return answering('v3', () => Promise.reject(error)).model
}

describe('doStream that rejects', () => {
  test.for([
    [400, false],
    [401, false],
    [408, true],
    [425, true],
    [429, true],
    [503, true],
    [529, true],
  ] as const)('with status %d is retryable: %s', async ([status, retryable]) => {
    const responseHeaders = { 'retry-after': '7', 'x-request-id': 'r9', 'not a header': 'x' }
    const thrown = apiError(status, { responseHeaders, responseBody: '{"error":{"message":"not now"}}' })
    const error = await failureOf(failing(thrown))
    expect(error).toMatchObject({
      message: `model 'acme.chat/m1' answered with HTTP ${status}: not now`,
      status,
      retryable,
      retryAfterMs: 7000,
      requestId: 'r9',
      provider: 'acme.chat',
      code: 'model',
    })
    expect(error.cause).toBe(thrown)
  })

  test('without a body quotes its own message', async () => {
    expect((await failureOf(failing(apiError(503)))).message).toContain('HTTP 503: its message')
  })

  test('for a request that is too long has a code of its own', async () => {
    const responseBody = '{"error":{"message":"prompt is too long: 9 tokens > 8 maximum"}}'
    expect(await failureOf(failing(apiError(400, { responseBody })))).toMatchObject({
      code: 'context_overflow',
      retryable: false,
    })
  })

  test('for an empty account is not retryable, whatever the AI SDK says', async () => {
    const responseBody = '{"error":{"message":"pay","code":"insufficient_quota"}}'
    expect((await failureOf(failing(apiError(429, { responseBody })))).retryable).toBe(false)
  })

  test('with a status that the AI SDK made up goes by its words', async () => {
    const made = (type: string) => apiError(500, { isRetryable: false, responseBody: `{"type":"${type}","message":"said so"}` })
    const refused = await failureOf(failing(made('invalid_request_error')))
    expect(refused).toMatchObject({ retryable: false, message: "model 'acme.chat/m1' sent an error in its stream: said so" })
    expect((await failureOf(failing(made('api_error')))).retryable).toBe(true)
  })

  test('for an answer that it cannot read is retryable', async () => {
    const expected = { code: 'model_garbage', retryable: true }
    expect(await failureOf(failing(apiError(200)))).toMatchObject(expected)
    expect(await failureOf(failing(sdkError('AI_EmptyResponseBodyError', 'empty')))).toMatchObject(expected)
  })

  test.for([
    [
      'an AI SDK error without a status',
      apiError(undefined, { cause: new Error('connect ECONNREFUSED') }),
      /cannot be reached: connect ECONN/,
    ],
    ['fetch failed', new TypeError('fetch failed'), /cannot be reached: fetch failed/],
    [
      'a code of the socket',
      new Error('odd', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) }),
      /reached: reset/,
    ],
    ['a time limit of its own', new DOMException('too slow', 'TimeoutError'), /reached: too slow/],
  ] as const)('because of %s is retryable', async ([, thrown, message]) => {
    expect(await failureOf(failing(thrown))).toMatchObject({ retryable: true, message: expect.stringMatching(message) })
  })

  test.for([
    ['AI_UnsupportedFunctionalityError', sdkError('AI_UnsupportedFunctionalityError', 'no audio')],
    ['AI_LoadAPIKeyError', sdkError('AI_LoadAPIKeyError', 'no key')],
    ['a mistake in its code', new TypeError("Cannot read properties of undefined (reading 'x')")],
    ['what is no error', 'a string'],
  ] as const)('because of %s is not retryable', async ([, thrown]) => {
    expect(await failureOf(failing(thrown))).toMatchObject({
      retryable: false,
      message: expect.stringMatching(/cannot be asked: ./),
    })
  })

  test('with an error of the gateway is told by its status', async () => {
    expect(await failureOf(failing(Object.assign(new Error('slow down'), { statusCode: 429 })))).toMatchObject({
      status: 429,
      retryable: true,
    })
  })

  test('by throwing at once is no different', async () => {
    const model: AISDKModel = {
      ...failing(''),
      doStream() {
        throw apiError(503)
      },
    }
    expect((await failureOf(model)).status).toBe(503)
  })

  test('or gives no stream, is garbage', async () => {
    const model = { ...failing(''), doStream: () => Promise.resolve({}) }
    // @ts-expect-error: it has no stream
    expect(await failureOf(model)).toMatchObject({ code: 'model_garbage', retryable: true })
  })
})

describe.for(versions)('a stream of %s', (version) => {
  test.for([
    [{ type: 'overloaded_error', message: 'busy' }, { retryable: true }],
    [{ type: 'invalid_request_error', message: 'busy' }, { retryable: false }],
    [
      { message: 'busy', code: 502 },
      { retryable: true, status: 502 },
    ],
    ['busy', { retryable: true }],
    [new Error('busy'), { retryable: true }],
    [sdkError('AI_TypeValidationError', 'odd chunk', { value: { error: 'busy' } }), { retryable: true }],
  ] as const)('that holds the error %j fails with its words', async ([error, expected]) => {
    const { model, cancelled } = standIn(version, [
      ...text('1', 'a'),
      { type: 'error', error },
      finishPart(version, { reason: 'error' }),
    ])
    expect(await failureOf(model)).toMatchObject({
      message: "model 'acme.chat/m1' sent an error in its stream: busy",
      requestId: 'r1',
      ...expected,
    })
    expect(cancelled.length).toBe(1)
  })

  test('that holds an error with a status has that status', async () => {
    const { model } = standIn(version, [{ type: 'error', error: apiError(529, { responseBody: 'busy' }) }])
    expect(await failureOf(model)).toMatchObject({ status: 529, retryable: true })
  })

  test('that holds what its provider cannot read is garbage', async () => {
    const { model } = standIn(version, [{ type: 'error', error: sdkError('AI_JSONParseError', 'no JSON') }])
    expect(await failureOf(model)).toMatchObject({ code: 'model_garbage', retryable: true, requestId: 'r1' })
  })

  test('with a call without a name is garbage', async () => {
    const { model } = standIn(version, [{ type: 'tool-call', toolCallId: 'a', input: '{}' }])
    expect(await failureOf(model)).toMatchObject({ code: 'model_garbage' })
  })

  test.for([
    ['no finish', []],
    ['a finish without a reason', [{ type: 'finish', usage: {} }]],
    [
      'a finish that says no reason came',
      [finishPart(version, { reason: version === 'v2' ? 'unknown' : 'other', input: 3, output: 4 })],
    ],
    ['a finish for an interruption', [finishPart(version, { reason: 'interrupted' })]],
    [
      'an error that says so',
      [{ type: 'error', error: sdkError('AI_InvalidResponseDataError', 'Response stream ended without a finish reason.') }],
    ],
  ] as const)('that ends with %s was cut', async ([, end]) => {
    const { model } = standIn(version, [...toolCall('a', 'add', '{'), ...end])
    expect(await failureOf(model)).toMatchObject({ code: 'model_stream_cut', retryable: true, requestId: 'r1' })
  })

  test('that breaks was cut, unless it says more', async () => {
    const breaking = (error: Error) =>
      answering(version, () => new ReadableStream({ pull: (controller) => controller.error(error) })).model
    expect(await failureOf(breaking(new TypeError('terminated')))).toMatchObject({
      message: "model 'acme.chat/m1' lost its connection before the answer was complete: terminated",
      code: 'model_stream_cut',
      retryable: true,
      requestId: 'r1',
    })
    expect(await failureOf(breaking(apiError(429)))).toMatchObject({ status: 429 })
  })
})

describe.for(versions)('an abort of a call to %s', (version) => {
  const hi = text('1', 'hi')
  const reason = { because: 'enough' }

  test('before it sends nothing', async () => {
    const { model, calls } = standIn(version, hi)
    await expect(partsOf(fromAISDK(model), hello, AbortSignal.abort(reason))).rejects.toBe(reason)
    expect(calls).toEqual([])
  })

  test('is thrown at once while the stream ignores it, and cancels the stream', async () => {
    const { model, calls, cancelled } = standIn(version, hi, { open: true })
    const controller = new AbortController()
    const parts = fromAISDK(model).stream(hello, { signal: controller.signal })[Symbol.asyncIterator]()
    expect((await parts.next()).value).toEqual({ type: 'text_delta', text: 'hi' })
    const next = parts.next()
    expect(getEventListeners(controller.signal, 'abort').length).toBe(1)
    controller.abort(reason)
    await expect(next).rejects.toBe(reason)
    expect(cancelled.length).toBe(1)
    expect(calls[0]?.abortSignal?.reason).toBe(reason)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })

  test('is thrown at once while doStream ignores it, and cancels the stream that comes later', async () => {
    let come: (stream: ReadableStream<unknown>) => void = () => {}
    let cancelled = false
    const { model } = answering(version, () => new Promise((resolve) => (come = resolve)))
    const controller = new AbortController()
    const parts = partsOf(fromAISDK(model), hello, controller.signal)
    controller.abort(reason)
    await expect(parts).rejects.toBe(reason)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
    come(new ReadableStream({ cancel: () => void (cancelled = true) }))
    await expect.poll(() => cancelled).toBe(true)
  })

  test('drops what has come already', async () => {
    const { model, cancelled } = standIn(version, [...hi, ...hi, finishPart(version, { reason: 'stop', raw: 'stop' })], {
      open: true,
    })
    const controller = new AbortController()
    const seen: ModelPart[] = []
    const reading = (async () => {
      for await (const part of fromAISDK(model).stream(hello, { signal: controller.signal })) {
        seen.push(part)
        controller.abort(reason)
      }
    })()
    await expect(reading).rejects.toBe(reason)
    expect(seen).toEqual([{ type: 'text_delta', text: 'hi' }])
    expect(cancelled.length).toBe(1)
  })

  test('is the reason also where doStream rejects for it', async () => {
    const controller = new AbortController()
    const { model } = answering(version, () => {
      controller.abort(reason)
      return Promise.reject(new DOMException('aborted', 'AbortError'))
    })
    await expect(partsOf(fromAISDK(model), hello, controller.signal)).rejects.toBe(reason)
  })
})

describe('a call that is over', () => {
  test('leaves no listener', async () => {
    const { signal } = new AbortController()
    const { model } = standIn('v3', [finishPart('v3', { reason: 'stop', raw: 'stop' })])
    await partsOf(fromAISDK(model), hello, signal)
    await expect(partsOf(fromAISDK(failing(apiError(500))), hello, signal)).rejects.toThrow(ModelError)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('because its reader left, has its stream cancelled and its signal aborted', async () => {
    const { model, calls, cancelled } = standIn('v3', text('1', 'hi'), { open: true })
    const { signal } = new AbortController()
    for await (const _ of fromAISDK(model).stream(hello, { signal })) break
    expect(cancelled.length).toBe(1)
    expect(calls[0]?.abortSignal?.aborted).toBe(true)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })

  test('does not wait for a stream that stays open behind its finish', async () => {
    const { model, cancelled } = standIn('v3', [finishPart('v3', { reason: 'stop', raw: 'stop' })], { open: true })
    expect(await partsOf(fromAISDK(model))).toHaveLength(1)
    expect(cancelled.length).toBe(1)
  })
})

describe('fromAISDK refuses', () => {
  const { model } = standIn('v3', [])
  test.for([
    ['anthropic/claude-sonnet-4', /v2 to v4, and got the id 'anthropic\/claude-sonnet-4'.*gateway/],
    [7, /got a value of type number/],
    [undefined, /got a value of type undefined/],
    [null, /got null/],
    [() => model, /got a value of type function.*call the provider first/],
    [{ ...model, specificationVersion: 'v1' }, /v2 to v4, and got one of v1/],
    [{ ...model, specificationVersion: 'v5' }, /got one of v5/],
    [{ ...model, provider: undefined }, /without a name/],
  ] as const)('%o', ([value, message]) => {
    // @ts-expect-error: none of these is a model
    const make = () => fromAISDK(value)
    expect(make).toThrow(ConfigError)
    expect(make).toThrow(message)
  })
})
