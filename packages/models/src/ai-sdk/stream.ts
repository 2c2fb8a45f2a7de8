import type { ModelPart } from '@koagent/core'
import { readToEnd } from '../call/read-to-end.ts'
import type { AnswerReader } from '../call/read.ts'
import { rootOf } from '../model-error/failure.ts'
import { isObject } from '../values.ts'
import { headersOf, isAISDKError } from './failure.ts'
import type { StreamFailures } from './failure.ts'

/** One call of a model of the AI SDK. */
export interface StreamCall {
  /** Calls `doStream`. The signal lives no longer than the call. */
  readonly send: (signal: AbortSignal) => PromiseLike<unknown>
  readonly reader: (headers: Headers) => AnswerReader
  readonly failed: StreamFailures
  readonly signal: AbortSignal
}

/**
 * The parts of the answer.
 *
 * Contract: throws only `ModelError`s and the signal's reason, that one at once, whatever the model does. However it ends, the stream is cancelled or read
 * to its end, also one that comes only later, and no listener stays on the signal.
 */
export async function* answerParts({ send, reader, failed, signal }: StreamCall): AsyncGenerator<ModelPart> {
  signal.throwIfAborted()
  const call = new AbortController()
  let giveUp: ((reason: unknown) => void) | undefined
  const wait = <T>(work: Promise<T>): Promise<T> =>
    new Promise<T>((resolve, reject) => {
      giveUp = reject
      work.then(resolve, reject)
    })
  const abort = (): void => {
    giveUp?.(signal.reason)
    call.abort(signal.reason)
  }
  signal.addEventListener('abort', abort, { once: true })
  const begun = begin(send, call.signal)
  let body: ReadableStreamDefaultReader<unknown> | undefined
  try {
    const { stream, headers } = await wait(begun)
    if (!stream) throw failed.garbage('gave no stream of its answer', headers)
    body = stream.getReader()
    yield* readParts(() => wait(body?.read() ?? ended), reader(headers), failed, headers, signal)
    await readToEnd(body)
  } catch (error) {
    signal.throwIfAborted()
    throw failed.request(error)
  } finally {
    signal.removeEventListener('abort', abort)
    const cancelled = body ? body.cancel() : begun.then(({ stream }) => stream?.cancel())
    cancelled.catch(() => {})
    call.abort()
  }
}

const ended: Promise<ReadableStreamReadResult<unknown>> = Promise.resolve({ done: true, value: undefined })

interface Begun {
  readonly stream: ReadableStream<unknown> | undefined
  readonly headers: Headers
}

async function begin(send: StreamCall['send'], signal: AbortSignal): Promise<Begun> {
  const result = await send(signal)
  const { stream, response } = isObject(result) ? result : {}
  return {
    stream: isStream(stream) ? stream : undefined,
    headers: headersOf(isObject(response) ? response['headers'] : undefined),
  }
}

/** By its structure: it may be made by another copy of the class. */
function isStream(value: unknown): value is ReadableStream<unknown> {
  return isObject(value) && typeof value['getReader'] === 'function'
}

async function* readParts(
  read: () => Promise<ReadableStreamReadResult<unknown>>,
  answer: AnswerReader,
  failed: StreamFailures,
  headers: Headers,
  signal: AbortSignal,
): AsyncGenerator<ModelPart> {
  while (!answer.done) {
    const { done, value } = await read().catch((error: unknown) => {
      signal.throwIfAborted()
      if (isAISDKError(error)) throw failed.streamed(error, headers)
      throw failed.cut(`lost its connection before the answer was complete: ${rootOf(error)}`, headers, error)
    })
    if (done) break
    for (const part of isObject(value) ? answer.push(value) : []) {
      yield part
      signal.throwIfAborted()
    }
  }
  if (!answer.complete) throw failed.cut('ended its stream before the answer was complete: no finish reason came', headers)
  yield* answer.end()
}
