import { ModelError } from '@koagent/core'
import { failures, rootOf } from '../model-error/failure.ts'
import type { Failures } from '../model-error/failure.ts'
import { refusalOf, refusalOfText } from '../model-error/refusal.ts'
import { countIn, isObject, textIn } from '../values.ts'

/** Makes the errors of one model of the AI SDK. */
export interface StreamFailures extends Pick<Failures, 'cut' | 'garbage'> {
  /** Whatever `doStream` threw. */
  readonly request: (thrown: unknown) => ModelError
  /** What came as an error in a stream that began well. */
  readonly streamed: (error: unknown, headers: Headers) => ModelError
}

type Fields = Record<string, unknown>

/** The server sent what the provider's package cannot read. */
const unreadable = new Set([
  'AI_EmptyResponseBodyError',
  'AI_InvalidResponseDataError',
  'AI_JSONParseError',
  'AI_NoContentGeneratedError',
  'AI_TypeValidationError',
])

export function streamFailures(provider: string, model: string): StreamFailures {
  const { cut, garbage, refused } = failures(provider, model)

  function answered(error: Fields): ModelError {
    const { statusCode, responseBody, responseHeaders, isRetryable } = error
    const headers = headersOf(responseHeaders)
    const status = countIn(statusCode)
    if (status === undefined) return unreachable(error)
    if (status < 400) return garbage(`answered with what its provider cannot read: ${rootOf(error)}`, headers)
    const refusal = textIn(responseBody).trim() ? refusalOfText(textIn(responseBody)) : { message: textIn(error['message']) }
    // An error in the first event of a stream is given a status that no server sent; whether it may pass is in its words then.
    if (status >= 500 && isRetryable === false) return refused('sent an error in its stream', refusal, undefined, headers, error)
    return refused(`answered with HTTP ${status}`, refusal, status, headers, error)
  }

  function unreachable(cause: unknown): ModelError {
    return new ModelError(`model '${provider}/${model}' cannot be reached: ${rootOf(cause)}`, {
      retryable: true,
      provider,
      cause,
    })
  }

  /** An error of the AI SDK, or undefined for any other. */
  function known(error: unknown, headers: Headers): ModelError | undefined {
    if (error instanceof ModelError) return error
    if (isAPIError(error)) return answered(error)
    if (!isAISDKError(error) || !unreadable.has(textIn(error['name']))) return undefined
    const { value, message } = error
    // An error frame in a form that the provider's package does not expect.
    if (isObject(value) && value['error'])
      return refused('sent an error in its stream', refusalOf(value), undefined, headers, error)
    if (/without a finish reason/i.test(textIn(message))) return cut(`broke off: ${rootOf(error)}`, headers, error)
    return garbage(`sent what its provider cannot read: ${rootOf(error)}`, headers)
  }

  return {
    cut,
    garbage,

    request(thrown) {
      const error = known(thrown, new Headers())
      if (error) return error
      if (!isAISDKError(thrown) && isOfConnection(thrown)) return unreachable(thrown)
      const message = `model '${provider}/${model}' cannot be asked: ${rootOf(thrown)}`
      return new ModelError(message, { retryable: false, provider, cause: thrown })
    },

    streamed(error, headers) {
      const refusal = refusalOf(error)
      return known(error, headers) ?? refused('sent an error in its stream', refusal, refusal.status, headers, error)
    },
  }
}

/** By its mark: the provider's package brings its own copy of the class. */
export function isAISDKError(error: unknown): error is Fields {
  return isMarked(error, 'vercel.ai.error')
}

/** An answer with an error status, or a server that could not be reached; the gateway's errors look the same. */
function isAPIError(error: unknown): error is Fields {
  return (
    isMarked(error, 'vercel.ai.error.AI_APICallError') ||
    (error instanceof Error && countIn(Reflect.get(error, 'statusCode')) !== undefined)
  )
}

function isMarked(error: unknown, mark: string): error is Fields {
  return isObject(error) && Reflect.get(error, Symbol.for(mark)) === true
}

const connectionCode =
  /^(E(AI_AGAIN|CONN\w+|HOSTUNREACH|NETUNREACH|NOTFOUND|PIPE|TIMEDOUT)|UND_ERR_\w+|Connection\w+|FailedToOpenSocket)$/

/** Did it fail on the way to the server? `fetch` says so by its words, its cause by a code; time limits of the provider's own count, too. */
function isOfConnection(thrown: unknown): boolean {
  for (let error = thrown, depth = 0; error instanceof Error && depth < 8; error = error.cause, depth++) {
    if (error.name === 'AbortError' || error.name === 'TimeoutError') return true
    if (connectionCode.test(textIn(Reflect.get(error, 'code')))) return true
    if (error instanceof TypeError && /fetch failed|failed to fetch|load failed|network|terminated/i.test(error.message))
      return true
  }
  return false
}

/** The headers that a provider reports, without those that are none. */
export function headersOf(value: unknown): Headers {
  const headers = new Headers()
  for (const [name, text] of Object.entries(isObject(value) ? value : {})) {
    try {
      if (typeof text === 'string') headers.set(name, text)
    } catch {
      // A name or a value that no header can have.
    }
  }
  return headers
}
