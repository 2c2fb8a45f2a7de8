/// <reference types="node" />
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type { JsonObject, ModelPart, Usage } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import type { ScriptedStep } from '@koagent/core/scripted'
import { isObject } from '../values.ts'
import type { FakeAnswer, FakeEnd, FakeFrames, FakeRefusal, FakeStep } from './answer.ts'
import { failureOf } from './failure.ts'
import { sendJson } from './listen.ts'
import type { Protocol } from './protocols.ts'

/** Answers the requests of one server. */
export interface Player {
  /** Calls `sent` when nothing of the answer is left to be sent. */
  answer(response: ServerResponse, protocol: Protocol, body: JsonObject, answer: FakeAnswer, sent: () => void): Promise<void>
  /** Tells an error, where there is still somebody to tell. */
  refuse(response: ServerResponse, protocol: Protocol, error: unknown): void
}

export function player(): Player {
  const steps: ScriptedStep[] = []
  // One model for all, so that the ids of its calls are unique.
  const model = scripted(steps)
  let answers = 0

  function refuse(response: ServerResponse, protocol: Protocol, error: unknown): void {
    if (response.destroyed || response.headersSent) return void response.destroy()
    const failure = failureOf(error)
    for (const [name, value] of Object.entries(failure.headers)) response.setHeader(name, value)
    sendJson(response, failure.status, protocol.error(failure))
  }

  function partsOf(step: FakeStep, signal: AbortSignal): AsyncIterable<ModelPart> {
    steps.push(step)
    return model.stream({ messages: [], tools: [] }, { signal })
  }

  async function play(
    response: ServerResponse,
    protocol: Protocol,
    body: JsonObject,
    step: FakeStep,
    sent: () => void,
  ): Promise<void> {
    const encoder = protocol.encoder({
      id: String(answers),
      model: typeof body['model'] === 'string' ? body['model'] : '',
      usage: usageIn(step),
      includeUsage: isObject(body['stream_options']) && body['stream_options']['include_usage'] === true,
    })
    const streamed = body['stream'] === true
    const gone = goneSignal(response)
    const write = async (pieces: readonly string[]): Promise<void> => {
      for (const piece of streamed ? pieces : []) await writePiece(response, piece, gone)
    }
    try {
      for await (const part of partsOf(step, gone)) await write(encoder.push(part))
    } catch (error) {
      if (gone.aborted) return
      if (!response.headersSent) return refuse(response, protocol, error)
      await write([encoder.error(failureOf(error))])
      sent()
      return void response.end()
    }
    const end = step.end ?? (encoder.finished ? undefined : 'cut')
    if (streamed && end === undefined) await write(encoder.end())
    if (!streamed) {
      const json = JSON.stringify(encoder.whole())
      response.setHeader('content-type', 'application/json; charset=utf-8')
      await writePiece(response, end === undefined ? json : json.slice(0, json.length / 2), gone)
    }
    finish(response, end, sent)
  }

  return {
    refuse,
    async answer(response, protocol, body, answer, sent) {
      response.setHeader(protocol.idHeader, `req_${++answers}`)
      if ('status' in answer) {
        sendRefusal(response, protocol, answer)
      } else if ('frames' in answer) {
        await writeFrames(response, answer)
        finish(response, answer.end, sent)
      } else await play(response, protocol, body, answer, sent)
    },
  }
}

function sendRefusal(response: ServerResponse, protocol: Protocol, { status, headers = {}, body }: FakeRefusal): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  const message = `the fake provider was told to answer with ${status}`
  const words = body ?? protocol.error({ status, message, code: null, headers, retryable: status >= 500 })
  const isText = typeof words === 'string'
  if (!response.hasHeader('content-type')) response.setHeader('content-type', isText ? 'text/plain' : 'application/json')
  response.writeHead(status).end(isText ? words : JSON.stringify(words))
}

async function writeFrames(response: ServerResponse, { frames }: FakeFrames): Promise<void> {
  const gone = goneSignal(response)
  writeStreamHead(response)
  for (const piece of frames) await writePiece(response, piece, gone)
}

function finish(response: ServerResponse, end: FakeEnd | undefined, sent: () => void): void {
  if (end === 'hang') return
  sent()
  if (end === 'reset') response.destroy()
  else response.end()
}

/** Aborts when the connection ends before the answer does. */
function goneSignal(response: ServerResponse): AbortSignal {
  const gone = new AbortController()
  response.on('close', () => gone.abort(new Error('the client closed the connection')))
  return gone.signal
}

function writeStreamHead(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' }).flushHeaders()
}

/** How many turns a client in the same process needs to read a piece before the next one comes: else its `fetch` joins the two. Three were enough. */
const turns = 4

/** Writes one piece, so that it arrives on its own as far as TCP allows. */
async function writePiece(response: ServerResponse, piece: string | Uint8Array, gone: AbortSignal): Promise<void> {
  if (gone.aborted) return
  if (!response.headersSent && !response.hasHeader('content-type')) writeStreamHead(response)
  response.socket?.setNoDelay(true)
  if (!response.write(piece)) await once(response, 'drain', { signal: gone })
  for (let turn = 0; turn < turns; turn++) await setImmediate()
}

/** Some protocols tell of the input before they tell anything else. */
function usageIn({ usage, parts = [] }: ScriptedStep): Usage {
  const part = parts.findLast(({ type }) => type === 'usage')
  return usage ?? (part?.type === 'usage' ? part.usage : undefined) ?? { inputTokens: 0, outputTokens: 0 }
}
