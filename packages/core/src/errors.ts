import type { RunResult } from './result.ts'

/** Where a failure came from. Fields that do not apply are absent. */
export interface Origin {
  readonly middleware?: string
  readonly point?: string
  readonly toolName?: string
  readonly callId?: string
  readonly model?: string
}

interface KoagentErrorOptions {
  readonly cause?: unknown
  readonly runId?: string | undefined
}

/** Every error of koagent's own. `code` is stable; the message says what happened, where and what to do. */
export class KoagentError extends Error {
  readonly code: string
  readonly runId?: string

  constructor(code: string, message: string, { cause, runId }: KoagentErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = new.target.name
    this.code = code
    if (runId !== undefined) this.runId = runId
  }
}

/** An agent, a tool, a middleware or a run was put together wrongly. Thrown before anything runs. */
export class ConfigError extends KoagentError {
  constructor(message: string, options?: KoagentErrorOptions) {
    super('config', message, options)
  }
}

/** A middleware broke the rules of its hook point, such as a second `next()`. */
export class HookContractError extends KoagentError {
  readonly middleware: string
  readonly point: string

  constructor(middleware: string, point: string, message: string, options?: KoagentErrorOptions) {
    super('hook_contract', `middleware '${middleware}' at ${point}: ${message}`, options)
    this.middleware = middleware
    this.point = point
  }
}

/** A model call failed, or a request was refused before it was sent. */
export class ModelError extends KoagentError {
  readonly status?: number
  /** May the same request succeed later? */
  readonly retryable: boolean
  /** How long the provider asked to wait, in milliseconds: finite and not negative. */
  readonly retryAfterMs?: number
  readonly provider?: string
  readonly requestId?: string

  constructor(
    message: string,
    options: KoagentErrorOptions & {
      readonly code?: string
      readonly status?: number | undefined
      readonly retryable: boolean
      readonly retryAfterMs?: number | undefined
      readonly provider?: string | undefined
      readonly requestId?: string | undefined
    },
  ) {
    super(options.code ?? 'model', message, options)
    this.retryable = options.retryable
    if (options.status !== undefined) this.status = options.status
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs
    if (options.provider !== undefined) this.provider = options.provider
    if (options.requestId !== undefined) this.requestId = options.requestId
  }
}

/** A tool call could not be carried out as asked: unknown tool, bad arguments, time limit, invalid output. */
export class ToolError extends KoagentError {
  readonly toolName: string
  readonly callId: string

  constructor(toolName: string, callId: string, message: string, options?: KoagentErrorOptions) {
    super('tool', message, options)
    this.toolName = toolName
    this.callId = callId
  }
}

/** The run was cancelled. `result` holds what there was by then. */
export class RunCancelledError extends KoagentError {
  declare readonly result: RunResult

  constructor(reason: unknown, options?: KoagentErrorOptions) {
    super('run_cancelled', `the run was cancelled${reasonText(reason)}`, { ...options, cause: reason })
    // The name that fetch, the SDKs and other callers of AbortController look for.
    this.name = 'AbortError'
  }
}

/** A second run wanted a session that is in use. */
export class SessionBusyError extends KoagentError {
  readonly sessionId: string
  readonly holder: string

  constructor(sessionId: string, holder: string, options?: KoagentErrorOptions) {
    super(
      'session_busy',
      `session '${sessionId}' is in use by run '${holder}': wait for that run to end, or give this run a session of its own`,
      options,
    )
    this.sessionId = sessionId
    this.holder = holder
  }
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  if (error instanceof Error) return error.message || error.name
  if (typeof error === 'string') return error
  try {
    return JSON.stringify(error) ?? String(error)
  } catch {
    return String(error)
  }
}

function reasonText(reason: unknown): string {
  if (reason === undefined || reason === null) return ''
  const text = messageOf(reason)
  return text ? `: ${text}` : ''
}

const origins = new WeakMap<object, Origin>()

/** Where an error came from (middleware, hook point, tool, call, model), or undefined when koagent never saw it. */
export function originOf(error: unknown): Origin | undefined {
  return typeof error === 'object' && error !== null ? origins.get(error) : undefined
}

/** Remembers beside the error, not in it, where it was thrown. The last throw counts: an error object may be thrown again elsewhere. */
export function setOrigin(error: Error, origin: Origin): void {
  origins.set(error, origin)
}

/** The error itself, or a `KoagentError` with a thrown non-Error as its cause. */
export function toError(thrown: unknown, where: string): Error {
  if (thrown instanceof Error) return thrown
  return new KoagentError('thrown_value', `${where} threw ${describe(thrown)}, which is no Error; throw an Error instead`, {
    cause: thrown,
  })
}

function describe(value: unknown): string {
  return value === null || value === undefined ? String(value) : `the ${typeof value} ${messageOf(value)}`
}
