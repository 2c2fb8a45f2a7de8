import type { ModelError, ModelPart } from '@koagent/core'
import { sseDecoder, wholeDecoder } from '../sse/sse.ts'
import type { SseDecoder, SseEvent } from '../sse/sse.ts'
import { answerReader } from './answer.ts'
import { rootOf } from './failure.ts'
import type { Failures } from './failure.ts'
import { isObject } from './values.ts'

/** How long the end of the stream may take to follow `[DONE]`. A connection that was read to its end serves the next call, too. */
const endMs = 100

/**
 * The parts of a streamed answer. It is complete when the server named its finish reason or sent `[DONE]`; anything less throws.
 *
 * The SDK's own iterator is not used: it ends silently on abort and on truncation, hides `[DONE]`, and fails on mixed line ends.
 */
export async function* streamParts(response: Response, failed: Failures, signal: AbortSignal): AsyncGenerator<ModelPart> {
  const { headers } = response
  const answer = answerReader((what) => failed.garbage(what, headers))
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
        const chunk = chunkOf(event, headers, failed, more)
        seen ||= chunk !== undefined
        yield* answer.push(chunk)
        signal.throwIfAborted()
      }
    }
    if (!done && !answer.finished) throw incomplete(failed, seen, headers, broken)
    yield* answer.end()
    if (more) await readToEnd(body)
  } finally {
    body?.cancel().catch(() => {})
  }
}

/** The chunk in an event, or undefined where it holds none. Throws for an error frame, and for broken JSON in mid-stream. */
function chunkOf(
  { event, data }: SseEvent,
  headers: Headers,
  failed: Failures,
  more: boolean,
): Record<string, unknown> | undefined {
  if (event === 'error') throw failed.frame(data, headers)
  if (!data.trimStart().startsWith('{')) return undefined
  const chunk = parsed(data)
  if (chunk === undefined && more) throw failed.garbage(`sent a chunk that is no JSON: ${data.slice(0, 200)}`, headers)
  if (chunk?.['error'] || chunk?.['object'] === 'error') throw failed.frame(data, headers)
  return chunk
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
  return failed.garbage(`answered without a chat completion, with ${type}; does the baseURL point to the API?`, headers)
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
