import { ModelError } from '@koagent/core'
import type { JsonObject } from '@koagent/core'
import { isRetryableStatus } from '../model-error/classify.ts'

/** A failure as a server tells it. */
export interface Failure {
  readonly status: number
  readonly message: string
  readonly code: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly retryable: boolean
}

/** The failure that an error comes to: that of a `ModelError` is its own, any other is the server's fault. */
export function failureOf(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error)
  if (!(error instanceof ModelError)) return { status: 500, message, code: null, headers: {}, retryable: true }
  const { status = 500, code, retryable, retryAfterMs } = error
  const headers = {
    ...(retryAfterMs !== undefined && {
      'retry-after-ms': String(retryAfterMs),
      'retry-after': String(Math.ceil(retryAfterMs / 1000)),
    }),
    // Only where the status says something else.
    ...(retryable !== isRetryableStatus(status) && { 'x-should-retry': String(retryable) }),
  }
  // Core's own word for an error without a code.
  return { status, message, code: code === 'model' ? null : code, headers, retryable }
}

/** An error as OpenAI words it. */
export function openaiError({ status, message, code, retryable }: Failure): JsonObject {
  const type = status === 429 ? 'rate_limit_error' : status < 500 || !retryable ? 'invalid_request_error' : 'server_error'
  return { error: { message, type, param: null, code } }
}

const types: Readonly<Record<number, string>> = {
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  413: 'request_too_large',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

/** An error as Anthropic words it. */
export function anthropicError({ status, message, retryable }: Failure): JsonObject {
  const type = types[status] ?? (status < 500 || !retryable ? 'invalid_request_error' : 'api_error')
  return { type: 'error', error: { type, message } }
}
