import { describe, expect, test } from 'vitest'
import { json, sse, testServer } from '../testing/server.ts'
import { partsOf } from '../testing/wire.ts'
import { openaiCompatible } from './openai-compatible.ts'

const server = testServer()
const hi = 'data: {"choices":[{"index":0,"delta":{"content":"hi"}}]}\n\n'
const done = 'data: [DONE]\n\n'

const model = () => openaiCompatible({ model: 'm1', baseURL: `http://127.0.0.1:${server.port}/v1`, provider: 'acme' })

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
    await expect(partsOf(model())).rejects.toMatchObject({
      message: "model 'acme/m1' sent an error in its stream: overloaded",
      requestId: 'r1',
      status: undefined,
      ...expected,
    })
  })
})

describe('an error where an answer was to begin, after HTTP 200', () => {
  test.for([
    ['{"error":{"message":"overloaded","code":503}}', { retryable: true, status: 503 }],
    ['\n  {\n  "detail": "overloaded"\n}\n', { retryable: true }],
    ['[{"error":{"code":429,"message":"overloaded"}}]', { retryable: true, status: 429 }],
  ] as const)('%j is a failure', async ([body, expected]) => {
    server.answer = (_, response) => response.writeHead(200, json).end(body)
    await expect(partsOf(model())).rejects.toMatchObject({
      message: "model 'acme/m1' sent an error in its stream: overloaded",
      ...expected,
    })
  })
})

test('an answer that ends in the middle of [DONE] was cut off', async () => {
  server.answer = (_, response) => response.writeHead(200, sse).end(`${hi}data: [DO`)
  await expect(partsOf(model())).rejects.toMatchObject({ code: 'model_stream_cut', retryable: true })
})
