import { ModelError } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { json, sse, testServer } from '../testing/server.ts'
import { partsOf } from '../testing/wire.ts'
import { openaiCompatible } from './openai-compatible.ts'

const server = testServer()
const hi = 'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
const done = 'data: [DONE]\n\n'

async function failure(): Promise<ModelError> {
  const model = openaiCompatible({ model: 'm1', baseURL: `http://127.0.0.1:${server.port}/v1`, provider: 'acme' })
  const error: unknown = await partsOf(model).then(
    () => 'it did not fail',
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(ModelError)
  return error as ModelError
}

describe('a refusal', () => {
  test('of a call that the model wrote wrongly is retryable', async () => {
    server.answer = (_, response) =>
      response.writeHead(400, json).end('{"error":{"message":"no","type":"invalid_request_error","code":"tool_use_failed"}}')
    expect(await failure()).toMatchObject({ status: 400, retryable: true })
  })

  test('for an empty account is not retryable', async () => {
    server.answer = (_, response) =>
      response.writeHead(429, json).end('{"error":{"message":"pay first","code":"insufficient_quota"}}')
    expect((await failure()).retryable).toBe(false)
  })

  test('of a request that is too long has a code of its own', async () => {
    server.answer = (_, response) =>
      response.writeHead(400, json).end('{"error":{"message":"too long","code":"context_length_exceeded"}}')
    expect(await failure()).toMatchObject({ code: 'context_overflow', status: 400, retryable: false })
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
    server.answer = (_, response) => response.writeHead(200, sse).end(hi + frame + done)
    const error = await failure()
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
    server.answer = (_, response) => response.writeHead(200, json).end(body)
    expect(await failure()).toMatchObject({
      message: "model 'acme/m1' sent an error in its stream: overloaded",
      ...expected,
    })
  })
})

test('an answer that ends in the middle of [DONE] was cut off', async () => {
  server.answer = (_, response) => response.writeHead(200, sse).end(`${hi}data: [DO`)
  expect(await failure()).toMatchObject({ code: 'model_stream_cut', retryable: true })
})
