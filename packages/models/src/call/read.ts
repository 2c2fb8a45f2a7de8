import type { ModelError, ModelPart } from '@koagent/core'
import { rootOf } from '../model-error/failure.ts'
import type { Failures } from '../model-error/failure.ts'
import { bodyDecoder } from '../sse/body.ts'
import type { SseEvent } from '../sse/sse.ts'
import { isObject, jsonIn } from '../values.ts'
import { readToEnd } from './read-to-end.ts'

/**
 * Turns the payloads of one streamed answer into model parts.
 *
 * Contract: it looks only at the fields that it needs, so that an odd value elsewhere never fails a stream; payloads of a type that it does not know
 * give no parts. What it throws is a `ModelError`.
 */
export interface AnswerReader {
  /** The parts of one payload. */
  push(payload: Record<string, unknown>): Iterable<ModelPart>
  /** May the answer end here? True once the server has said why it ended. */
  readonly complete: boolean
  /** Was that its last payload? Then nothing is waited for but the end of the connection. */
  readonly done?: boolean
  /** The rest, with the finish. Asked for once, when the answer is complete. */
  end(): Iterable<ModelPart>
}

/** How long the rest of a complete answer may take, its usage above all: some servers send that late, others neither end the stream nor say `[DONE]`. */
const restMs = 5000

/**
 * The parts of a streamed answer. It is complete when the server says so, by its reason or with `[DONE]`; anything less throws.
 *
 * The SDKs' own iterators are not used: they end silently on abort and on truncation, hide `[DONE]`, and fail on mixed line ends.
 */
export async function* readParts(
  response: Response,
  answer: AnswerReader,
  failed: Failures,
  signal: AbortSignal,
): AsyncGenerator<ModelPart> {
  const { headers } = response
  const decoder = bodyDecoder()
  const body = response.body?.getReader()
  const close = (): void => void body?.cancel().catch(() => {})
  // A body that is not the global fetch's may not obey the signal that its request was given.
  signal.addEventListener('abort', close, { once: true })
  let rest: ReturnType<typeof setTimeout> | undefined
  let more = body !== undefined
  let seen = false
  let done = false
  let broken: unknown
  try {
    while (more && !done) {
      const bytes = await body?.read().then(
        ({ value }) => value,
        (error: unknown) => void (broken = error),
      )
      signal.throwIfAborted()
      more = bytes !== undefined
      for (const event of bytes ? decoder.push(bytes) : decoder.end()) {
        if (textOf(event).startsWith('[DONE]')) {
          done = true
          break
        }
        const payload = payloadOf(event, headers, failed, more)
        if (!payload) continue
        seen = true
        for (const part of answer.push(payload)) {
          yield part
          signal.throwIfAborted()
        }
        done = answer.done === true
        if (done) break
      }
      if (answer.complete) rest ??= setTimeout(close, restMs)
    }
    if (!done && !answer.complete) throw incomplete(failed, seen, headers, broken)
    yield* answer.end()
    if (more && body) await readToEnd(body)
  } finally {
    clearTimeout(rest)
    close()
  }
}

/** The data of an event, without what proxies that frame a frame leave before it. */
function textOf({ data }: SseEvent): string {
  return data.replace(/^(?:\s*data:)*\s*/, '')
}

/** The payload of an event, or undefined where it holds none. Throws for an error frame, and for broken JSON in mid-stream. */
function payloadOf(event: SseEvent, headers: Headers, failed: Failures, more: boolean): Record<string, unknown> | undefined {
  if (event.event === 'error') throw failed.frame(event.data, headers)
  const text = textOf(event)
  const isList = text.startsWith('[')
  if (!isList && !text.startsWith('{')) return undefined
  const value = jsonIn(text)
  if (value === undefined && more && !isList) {
    throw failed.garbage(`sent a payload that is no JSON: ${text.slice(0, 200)}`, headers)
  }
  // Gemini puts an error into a list, and nothing else.
  const payload: unknown = Array.isArray(value) ? value[0] : value
  if (!isObject(payload)) return undefined
  if (isError(payload)) throw failed.frame(text, headers)
  return isList ? undefined : payload
}

/**
 * An error in a stream that began well: OpenAI's chat completions hold one, its Responses and Anthropic's messages say so by their type, and others send
 * words where an answer would be.
 */
function isError({ error, object, type, choices, message, detail, msg, base_resp: state }: Record<string, unknown>): boolean {
  if (object === 'error' || type === 'error') return true
  if (error && !(typeof error === 'object' && Object.keys(error).length === 0)) return true
  if (type !== undefined || Array.isArray(choices)) return false
  return (
    [message, detail, msg].some((words) => typeof words === 'string' && words !== '') ||
    (isObject(state) && Boolean(state['status_code']))
  )
}

function incomplete(failed: Failures, seen: boolean, headers: Headers, broken: unknown): ModelError {
  if (broken !== undefined) {
    return failed.cut(`lost its connection before the answer was complete: ${rootOf(broken)}`, headers, broken)
  }
  if (seen) return failed.cut('ended its stream before the answer was complete: no finish reason came', headers)
  const type = headers.get('content-type') ?? 'no content type'
  return failed.garbage(`answered without one event of an answer, with ${type}; does the baseURL point to the API?`, headers)
}
