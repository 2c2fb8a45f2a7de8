// The one file of this package that needs Node.
/// <reference types="node" />
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { ModelError } from '@koagent/core'
import type { JsonObject, Model, ModelPart } from '@koagent/core'
import { chatAnswer } from './chat-answer.ts'
import type { ChatAnswer } from './chat-answer.ts'
import { BadRequestError, chatRequest } from './chat-request.ts'
import type { ChatRequest } from './chat-request.ts'

/** A model behind HTTP, until `close`. */
export interface ServedModel {
  /** Such as 'http://127.0.0.1:41234'. */
  readonly url: string
  /** What an OpenAI client takes: `url` with '/v1'. */
  readonly baseURL: string
  /** Ends open answers too. */
  close(): Promise<void>
}

/** Options of {@link serveModel}. */
export interface ServeModelOptions {
  /** Default: 0, any free one. */
  readonly port?: number
}

/**
 * Serves a model as OpenAI's chat completions on this machine's loopback address, streamed or whole: for demos and tests that go the
 * whole way through HTTP, the official SDK and its parser.
 *
 * Contract: a client that goes away aborts the model. A failure before the first part is an HTTP error with the status of its `ModelError`;
 * a later one is an error frame. It asks for no key, so anything that runs on this machine can reach it.
 *
 * @example
 * const { baseURL, close } = await serveModel(demoModel())
 * const model = openaiCompatible({ baseURL, model: 'demo-rule-planner' })
 */
export async function serveModel(model: Model, { port = 0 }: ServeModelOptions = {}): Promise<ServedModel> {
  const server = createServer((request, response) => {
    answer(model, request, response).catch((error: unknown) => fail(response, error))
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  const closed = once(server, 'close')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    baseURL: `${url}/v1`,
    async close() {
      server.close()
      server.closeAllConnections()
      await closed
    },
  }
}

async function answer(model: Model, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  const route = `${request.method} ${pathname}`
  if (route === 'GET /v1/models') {
    const data = [{ id: model.id, object: 'model', created: 0, owned_by: model.provider }]
    return send(response, 200, { object: 'list', data })
  }
  if (route !== 'POST /v1/chat/completions')
    return send(response, 404, errorBody(`no such route: ${route}`, 'invalid_request_error', 'unknown_url'))

  const gone = new AbortController()
  response.on('close', () => {
    if (!response.writableFinished) gone.abort(new Error('the client closed the connection'))
  })
  const asked = chatRequest(parsed(await text(request)))
  const answered = asked.stream ? stream : whole
  await answered(model, asked, response, gone.signal)
}

async function stream(
  model: Model,
  { request, includeUsage }: ChatRequest,
  response: ServerResponse,
  signal: AbortSignal,
): Promise<void> {
  const chat = newAnswer(model)
  const frame = async (value: JsonObject): Promise<void> => {
    if (!response.headersSent)
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
    if (!response.write(`data: ${JSON.stringify(value)}\n\n`)) await once(response, 'drain', { signal })
  }
  try {
    for await (const part of heeding(model.stream(request, { signal }), signal)) {
      if (!response.headersSent) await frame(chat.chunk({ role: 'assistant', content: '' }))
      for (const delta of chat.push(part)) await frame(chat.chunk(delta))
    }
  } catch (error) {
    if (signal.aborted || !response.headersSent) throw error
    await frame(errorOf(error).body)
    return void response.end()
  }
  // A stream that broke off in the model breaks off here, too.
  if (chat.finishReason === undefined) return void response.end()
  await frame(chat.chunk({}, chat.finishReason))
  if (includeUsage) await frame(chat.usageChunk())
  response.end('data: [DONE]\n\n')
}

async function whole(model: Model, { request }: ChatRequest, response: ServerResponse, signal: AbortSignal): Promise<void> {
  const chat = newAnswer(model)
  for await (const part of heeding(model.stream(request, { signal }), signal)) chat.push(part)
  send(response, 200, chat.completion())
}

/** The parts, until the signal aborts. A model that never waits would keep the socket from telling that the client has gone. */
async function* heeding(parts: AsyncIterable<ModelPart>, signal: AbortSignal): AsyncGenerator<ModelPart> {
  for await (const part of parts) {
    signal.throwIfAborted()
    yield part
    await setImmediate()
  }
}

function newAnswer(model: Model): ChatAnswer {
  return chatAnswer(`chatcmpl-${randomUUID()}`, model.id, Math.floor(Date.now() / 1000))
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (error) {
    throw new BadRequestError(`the body is no JSON: ${messageOf(error)}`)
  }
}

/** The failure of a request, as an HTTP error, where there is still somebody to tell. */
function fail(response: ServerResponse, error: unknown): void {
  if (response.destroyed) return
  if (response.headersSent) return void response.destroy()
  const { status, body, retryAfterMs } = errorOf(error)
  if (retryAfterMs !== undefined)
    response.setHeader('retry-after-ms', retryAfterMs).setHeader('retry-after', Math.ceil(retryAfterMs / 1000))
  send(response, status, body)
}

function errorOf(error: unknown): { status: number; body: JsonObject; retryAfterMs?: number | undefined } {
  if (error instanceof BadRequestError) return { status: 400, body: errorBody(error.message, 'invalid_request_error', null) }
  const { status = 500, code = null, retryAfterMs } = error instanceof ModelError ? error : {}
  const type = status === 429 ? 'rate_limit_error' : status < 500 ? 'invalid_request_error' : 'server_error'
  return { status, body: errorBody(messageOf(error), type, code), retryAfterMs }
}

function errorBody(message: string, type: string, code: string | null): JsonObject {
  return { error: { message, type, param: null, code } }
}

function send(response: ServerResponse, status: number, body: JsonObject): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
