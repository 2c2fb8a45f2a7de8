import type { ModelError, ModelPart } from '@koagent/core'
import { rootOf } from '../model-error/failure.ts'
import type { Failures } from '../model-error/failure.ts'
import { sseDecoder, wholeDecoder } from '../sse/sse.ts'
import type { SseDecoder, SseEvent } from '../sse/sse.ts'
import { isObject } from '../values.ts'

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

/** How long the end of the stream may take to follow the last payload. A connection that was read to its end serves the next call, too. */
const endMs = 100

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
  let decoder: SseDecoder | undefined
  const body = response.body?.getReader()
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
      // No line of an event stream begins with a brace; servers' content types are not to be trusted.
      decoder ??= bytes?.[0] === 0x7b ? wholeDecoder() : sseDecoder()
      for (const event of bytes ? decoder.push(bytes) : decoder.end()) {
        if (event.data.startsWith('[DONE]')) {
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
    }
    if (!done && !answer.complete) throw incomplete(failed, seen, headers, broken)
    yield* answer.end()
    if (more) await readToEnd(body)
  } finally {
    body?.cancel().catch(() => {})
  }
}

/** The payload of an event, or undefined where it holds none. Throws for an error frame, and for broken JSON in mid-stream. */
function payloadOf(
  { event, data }: SseEvent,
  headers: Headers,
  failed: Failures,
  more: boolean,
): Record<string, unknown> | undefined {
  if (event === 'error') throw failed.frame(data, headers)
  if (!data.trimStart().startsWith('{')) return undefined
  const payload = parsed(data)
  if (payload === undefined && more) throw failed.garbage(`sent a payload that is no JSON: ${data.slice(0, 200)}`, headers)
  if (payload && isError(payload)) throw failed.frame(data, headers)
  return payload
}

/** An error in a stream that began well: OpenAI's chat completions hold one, its Responses and Anthropic's messages say so by their type. */
function isError({ error, object, type }: Record<string, unknown>): boolean {
  return Boolean(error) || object === 'error' || type === 'error'
}

function parsed(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

function incomplete(failed: Failures, seen: boolean, headers: Headers, broken: unknown): ModelError {
  if (broken !== undefined) {
    return failed.cut(`lost its connection before the answer was complete: ${rootOf(broken)}`, headers, broken)
  }
  if (seen) return failed.cut('ended its stream before the answer was complete: no finish reason came', headers)
  const type = headers.get('content-type') ?? 'no content type'
  return failed.garbage(`answered without one event of an answer, with ${type}; does the baseURL point to the API?`, headers)
}

async function readToEnd(body: ReadableStreamDefaultReader<Uint8Array> | undefined): Promise<void> {
  const timer = setTimeout(() => void body?.cancel().catch(() => {}), endMs)
  try {
    while (!(await body?.read())?.done);
  } catch {
    // The answer is complete: how the connection ended no longer matters.
  } finally {
    clearTimeout(timer)
  }
}
