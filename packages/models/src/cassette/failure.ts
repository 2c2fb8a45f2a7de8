import { ModelError } from '@koagent/core'

/** A failure of a model as a cassette keeps it. */
export interface Failure {
  readonly name: string
  readonly message: string
  readonly code?: string
  readonly status?: number
  readonly retryable?: boolean
  readonly retryAfterMs?: number
  readonly requestId?: string
  readonly provider?: string
}

/** @param clean for the message, which may quote anything */
export function failureOf(error: Error, clean: (text: string) => string): Failure {
  const message = clean(error.message)
  if (!(error instanceof ModelError)) {
    const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
    return { name: error.name, message, ...code }
  }
  const { name, code, status, retryable, retryAfterMs, requestId, provider } = error
  return {
    name,
    message,
    code,
    retryable,
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    ...(requestId !== undefined && { requestId }),
    ...(provider !== undefined && { provider }),
  }
}

/** An error like the one that was recorded, without its cause. */
export function errorOf({ name, message, ...facts }: Failure): Error {
  const { retryable } = facts
  return retryable === undefined
    ? Object.assign(new Error(message), { name, ...facts })
    : new ModelError(message, { ...facts, retryable })
}
