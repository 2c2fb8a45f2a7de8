import type { ModelPart } from '@koagent/core'
import type { Failures } from '../model-error/failure.ts'
import { readParts } from './read.ts'
import type { AnswerReader } from './read.ts'

/** One call of a model that is reached over HTTP. */
export interface Call {
  /** Sends the request. The signal lives no longer than the call: the SDKs leave listeners on what they are given. */
  readonly send: (signal: AbortSignal) => PromiseLike<Response>
  /** A reader for the answer whose head has come. */
  readonly reader: (headers: Headers) => AnswerReader
  readonly failed: Failures
  readonly signal: AbortSignal
}

/**
 * The parts of the answer.
 *
 * Contract: throws only `ModelError`s and the signal's reason. However it ends, the connection is closed or read to its end, and no listener stays on the signal.
 */
export async function* callParts({ send, reader, failed, signal }: Call): AsyncGenerator<ModelPart> {
  signal.throwIfAborted()
  const call = new AbortController()
  const abort = (): void => call.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    const response = await unlessAborted(send(call.signal), call.signal)
    yield* readParts(response, reader(response.headers), failed, call.signal)
  } catch (error) {
    signal.throwIfAborted()
    throw failed.request(error)
  } finally {
    signal.removeEventListener('abort', abort)
    call.abort()
  }
}

/** The response; or the signal's reason, at once: the wait for a key, or a `fetch` of one's own, may not obey the signal. */
function unlessAborted(sent: PromiseLike<Response>, signal: AbortSignal): Promise<Response> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true })
    sent.then((response) => {
      resolve(response)
      if (signal.aborted) response.body?.cancel().catch(() => {})
    }, reject)
  })
}
