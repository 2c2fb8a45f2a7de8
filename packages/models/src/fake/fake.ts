/// <reference types="node" />
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { ModelError } from '@koagent/core'
import type { JsonObject } from '@koagent/core'
import { isObject, jsonIn } from '../values.ts'
import type { FakeAnswer, FakeRequest, FakeScript } from './answer.ts'
import { failureOf } from './failure.ts'
import { listen, sendJson } from './listen.ts'
import { player } from './play.ts'
import { protocolOf, protocols } from './protocols.ts'

export type { FakeAnswer, FakeEnd, FakeFrames, FakeRefusal, FakeRequest, FakeScript, FakeStep } from './answer.ts'

/** A stand-in for a provider, until `close`. */
export interface FakeProvider {
  /** What an Anthropic client takes, such as 'http://127.0.0.1:41234'. */
  readonly url: string
  /** What an OpenAI client takes: `url` with '/v1'. */
  readonly baseURL: string
  /** Every request that an answer was asked for, oldest first. */
  readonly requests: readonly FakeRequest[]
  /** Ends open answers too. */
  readonly close: () => Promise<void>
}

/**
 * A server on this machine's loopback address that speaks OpenAI's chat completions and Responses and Anthropic's messages, streamed or whole, as each
 * request asks: for tests of models and agents without a key. The first request gets the first answer, the second the second, whatever it asks.
 *
 * Contract: each frame of a stream, a word of text for one, arrives on its own. Ids that the answers leave out are unique for the server.
 * Reasoning has opaque data that begins with 'opaque-', unless `reasoning_end` holds its own. Once the answers have run out it refuses with a 500 that is not to
 * be retried; it refuses what is no request of the three protocols, too, and does not count it.
 *
 * @example
 * const provider = await fakeProvider([{ toolCalls: [{ name: 'add', args: { a: 1, b: 2 } }] }, { text: 'It is 3.' }])
 * const model = openaiCompatible({ baseURL: provider.baseURL, model: 'any' })
 */
export async function fakeProvider(answers: readonly FakeScript[]): Promise<FakeProvider> {
  const requests: FakeRequest[] = []
  const play = player()
  let closing = false

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url ?? '/'
    const protocol = request.method === 'POST' ? protocolOf(path) : undefined
    if (!protocol) {
      const known = protocols.map((one) => `POST …${one.path}`).join(', ')
      const message = `the fake provider has no ${request.method} ${path}, only ${known}`
      return sendJson(response, 404, { error: { message, type: 'not_found_error', param: null, code: null } })
    }
    const body = jsonIn(await text(request))
    if (!isJsonObject(body)) return play.refuse(response, protocol, refused(400, 'the body of the request is no JSON object'))

    let sent = false
    const ended = new Promise<'sent' | 'left' | 'closed'>((resolve) => {
      response.on('close', () => resolve(sent || response.writableFinished ? 'sent' : closing ? 'closed' : 'left'))
    })
    const asked = { path, protocol: protocol.name, headers: request.headers, body, ended }
    const index = requests.push(asked) - 1
    try {
      await play.answer(response, protocol, body, await answerTo(asked, index), () => (sent = true))
    } catch (error) {
      play.refuse(response, protocol, error)
    }
  }

  async function answerTo(request: FakeRequest, index: number): Promise<FakeAnswer> {
    const script = answers[index]
    try {
      if (script) return typeof script === 'function' ? await script(request) : script
    } catch (error) {
      throw refused(500, `the function that makes the answer to request ${index + 1} failed: ${failureOf(error).message}`)
    }
    const count = answers.length === 1 ? '1 answer was' : `${answers.length} answers were`
    const advice = 'add an answer, or find out why it was asked again'
    throw refused(500, `request ${index + 1} to the fake provider, but only ${count} given: ${advice}`)
  }

  const server = await listen((request, response) => {
    // Only a client that leaves while its request is read makes it fail.
    handle(request, response).catch(() => response.destroy())
  })
  return {
    url: server.url,
    baseURL: server.baseURL,
    requests,
    close() {
      closing = true
      return server.close()
    },
  }
}

function refused(status: number, message: string): ModelError {
  return new ModelError(message, { status, retryable: false })
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value)
}
