import { ModelError } from '@koagent/core'
import { isContextOverflow, isRetryableStatus } from './classify.ts'
import { refusalOf, refusalOfText } from './refusal.ts'
import type { Refusal } from './refusal.ts'
import { retryAfterMs } from './retry-after.ts'

/** Makes the errors of one model; every message begins with its name. */
export interface Failures {
  /** The answer broke off. Retryable. */
  readonly cut: (what: string, headers: Headers, cause?: unknown) => ModelError
  /** The server sent what is no answer. Retryable. */
  readonly garbage: (what: string, headers: Headers) => ModelError
  /** An error frame in a stream that began well. */
  readonly frame: (data: string, headers: Headers) => ModelError
  /** Whatever an official SDK threw. */
  readonly request: (thrown: unknown) => ModelError
  /** The server refused the request, or failed; what it said says how. */
  readonly refused: (
    what: string,
    refusal: Refusal,
    status: number | undefined,
    headers: Headers | undefined,
    cause?: unknown,
  ) => ModelError
}

/** Refusals that the same request meets again, whatever their status. */
const permanent = new Set([
  'insufficient_quota',
  'authentication_error',
  'permission_error',
  'not_found_error',
  'billing_error',
  'request_too_large',
  'validationException',
  'accessDeniedException',
])

/** The codes of OpenAI's Responses for an image, a prompt or a policy that stays what it is. */
const permanentWords = /^invalid_|image|_policy/

/** Groq's words for a call or an answer that the model wrote wrongly: another try may come out well, although the request is blamed for it. */
const mishaps = new Set(['tool_use_failed', 'json_validate_failed'])

export function failures(provider: string, model: string): Failures {
  const name = `model '${provider}/${model}'`

  function refused(
    what: string,
    refusal: Refusal,
    status: number | undefined,
    headers: Headers | undefined,
    cause?: unknown,
  ): ModelError {
    const overflow = isContextOverflow(status, refusal.code, refusal.message)
    return new ModelError(`${name} ${what}${refusal.message ? `: ${refusal.message}` : ', without a word'}`, {
      ...(overflow && { code: 'context_overflow' }),
      status,
      retryable: !overflow && isRetryable(refusal, status, headers?.get('x-should-retry')),
      retryAfterMs: headers && retryAfterMs(headers),
      provider,
      requestId: headers && requestId(headers),
      cause,
    })
  }

  function broken(code: string, what: string, headers: Headers, cause?: unknown): ModelError {
    return new ModelError(`${name} ${what}`, { code, retryable: true, provider, requestId: requestId(headers), cause })
  }

  return {
    refused,
    cut: (what, headers, cause) => broken('model_stream_cut', what, headers, cause),
    garbage: (what, headers) => broken('model_garbage', what, headers),

    frame(data, headers) {
      const refusal = refusalOfText(data)
      return refused('sent an error in its stream', refusal, refusal.status, headers)
    },

    request(thrown) {
      if (thrown instanceof ModelError) return thrown
      if (isAPIError(thrown) && thrown.status !== undefined) {
        return refused(`answered with HTTP ${thrown.status}`, refusalIn(thrown), thrown.status, thrown.headers, thrown)
      }
      // The SDKs' errors without a status are about the connection. Anything else went wrong on this side of it.
      if (isAPIError(thrown))
        return new ModelError(`${name} cannot be reached: ${rootOf(thrown)}`, { retryable: true, provider, cause: thrown })
      return new ModelError(`${name} cannot be asked: ${rootOf(thrown)}`, { retryable: false, provider, cause: thrown })
    },
  }
}

/** An `APIError` of the SDKs of OpenAI and Anthropic, which are made by one generator. By its structure: a client may come from another copy of the SDK. */
interface APIError extends Error {
  readonly status: number | undefined
  readonly headers: Headers | undefined
  /** The body, or a part of it. */
  readonly error: unknown
}

function isAPIError(thrown: unknown): thrown is APIError {
  return thrown instanceof Error && 'status' in thrown && 'headers' in thrown && 'error' in thrown
}

/** Where {@link keepRefusals} was at work `error` holds the whole body as text. A body that the SDK could not read is in its message, behind the status. */
function refusalIn({ error, status, message }: APIError): Refusal {
  if (error === undefined) return { message: message.replace(new RegExp(`^${status} (status code \\(no body\\))?`), '') }
  return refusalOf(error)
}

type Fetch = typeof globalThis.fetch

/**
 * OpenAI's SDK keeps of a refusal only the field `error`, and many servers speak elsewhere: this puts the whole body into that field. Of a body without an
 * end it takes what comes in time.
 */
export function keepRefusals(fetch: Fetch): Fetch {
  return async function keepRefusals(input, init) {
    const response = await fetch(input, init)
    if (response.status < 400) return response
    const error = await wordsOf(response)
    return new Response(error && JSON.stringify({ error }), {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    })
  }
}

/** A refusal is read no longer, in milliseconds, and no further, in characters. */
const refusalMs = 5000
const refusalChars = 65_536

async function wordsOf({ body }: Response): Promise<string> {
  const reader = body?.getReader()
  const close = (): void => void reader?.cancel().catch(() => {})
  const timer = setTimeout(close, refusalMs)
  const utf8 = new TextDecoder()
  let words = ''
  try {
    for (let bytes = await reader?.read(); bytes?.value && words.length < refusalChars; bytes = await reader?.read())
      words += utf8.decode(bytes.value, { stream: true })
  } catch {
    // What came before the connection was lost is all there is.
  } finally {
    clearTimeout(timer)
    close()
  }
  return words
}

function isRetryable({ code, type }: Refusal, status: number | undefined, asked: string | null | undefined): boolean {
  if (asked === 'true' || asked === 'false') return asked === 'true'
  if (code === 'insufficient_quota' || type === 'insufficient_quota') return false
  if (mishaps.has(code ?? '')) return true
  if (status !== undefined) return isRetryableStatus(status)
  return ![code, type].some((word = '') => permanent.has(word) || permanentWords.test(word))
}

function requestId(headers: Headers): string | undefined {
  const id = ['x-request-id', 'request-id', 'x-amzn-requestid'].map((name) => headers.get(name)).find(Boolean)
  return id ?? undefined
}

/** The innermost cause says what happened: 'fetch failed' does not. */
export function rootOf(error: unknown): string {
  let root = error
  for (let depth = 0; depth < 8 && root instanceof Error; depth++) {
    const inner: unknown = root.cause ?? (root instanceof AggregateError ? root.errors[0] : undefined)
    if (inner === undefined) break
    root = inner
  }
  return root instanceof Error ? root.message || root.name : String(root)
}
