/// <reference types="node" />
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { ModelError } from '@koagent/core'
import type { Model, ModelPart } from '@koagent/core'
import { chatEncoder } from '../fake/chat.ts'
import type { Encoder } from '../fake/encoder.ts'
import { failureOf, openaiError } from '../fake/failure.ts'
import { listen, sendJson } from '../fake/listen.ts'
import type { LocalServer } from '../fake/listen.ts'
import { BadRequestError, chatRequest } from './chat-request.ts'
import type { ChatRequest } from './chat-request.ts'

/** A model behind HTTP, until `close`. */
export type ServedModel = LocalServer

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
  return listen((request, response) => {
    answer(model, request, response).catch((error: unknown) => fail(response, error))
  }, port)
}

async function answer(model: Model, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://localhost')
  const route = `${request.method} ${pathname}`
  if (route === 'GET /v1/models') {
    const data = [{ id: model.id, object: 'model', created: 0, owned_by: model.provider }]
    return sendJson(response, 200, { object: 'list', data })
  }
  if (route !== 'POST /v1/chat/completions')
    throw new ModelError(`no such route: ${route}`, { status: 404, code: 'unknown_url', retryable: false })

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
  const chat = newAnswer(model, includeUsage)
  const write = async (frames: readonly string[]): Promise<void> => {
    for (const frame of frames) {
      if (!response.headersSent)
        response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' })
      if (!response.write(frame)) await once(response, 'drain', { signal })
    }
  }
  try {
    for await (const part of heeding(model.stream(request, { signal }), signal)) await write(chat.push(part))
  } catch (error) {
    if (signal.aborted || !response.headersSent) throw error
    await write([chat.error(failureOf(error))])
    return void response.end()
  }
  // A stream that broke off in the model breaks off here, too.
  if (chat.finished) await write(chat.end())
  response.end()
}

async function whole(model: Model, { request }: ChatRequest, response: ServerResponse, signal: AbortSignal): Promise<void> {
  const chat = newAnswer(model)
  for await (const part of heeding(model.stream(request, { signal }), signal)) chat.push(part)
  sendJson(response, 200, chat.whole())
}

/** The parts, until the signal aborts. A model that never waits would keep the socket from telling that the client has gone. */
async function* heeding(parts: AsyncIterable<ModelPart>, signal: AbortSignal): AsyncGenerator<ModelPart> {
  for await (const part of parts) {
    signal.throwIfAborted()
    yield part
    await setImmediate()
  }
}

function newAnswer(model: Model, includeUsage: boolean = false): Encoder {
  return chatEncoder({ id: randomUUID(), model: model.id, usage: { inputTokens: 0, outputTokens: 0 }, includeUsage })
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (error) {
    throw new BadRequestError(`the body is no JSON: ${String(error)}`)
  }
}

/** The failure of a request, as an HTTP error, where there is still somebody to tell. */
function fail(response: ServerResponse, error: unknown): void {
  if (response.destroyed) return
  if (response.headersSent) return void response.destroy()
  const failure = failureOf(error)
  for (const [name, value] of Object.entries(failure.headers)) response.setHeader(name, value)
  sendJson(response, failure.status, openaiError(failure))
}
