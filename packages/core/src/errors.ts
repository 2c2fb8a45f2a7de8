import { isObject } from './json.ts'
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
  // Written out: a minifier renames classes.
  override readonly name: string = 'KoagentError'
  declare readonly code: string
  declare readonly runId?: string | undefined

  /** Other fields of `options` become the error's own. */
  constructor(code: string, message: string, options: KoagentErrorOptions = {}) {
    super(message, options)
    Object.assign(this, { code, ...options })
  }
}

/** An agent, a tool, a middleware or a run was put together wrongly. Thrown before anything runs. */
export class ConfigError extends KoagentError {
  override readonly name: string = 'ConfigError'
  constructor(message: string, options?: KoagentErrorOptions) {
    super('config', message, options)
  }
}

/** A middleware broke the rules of its hook point, such as a second `next()`. */
export class HookContractError extends KoagentError {
  override readonly name: string = 'HookContractError'
  declare readonly middleware: string
  declare readonly point: string

  constructor(middleware: string, point: string, message: string, options?: KoagentErrorOptions) {
    const fields = { ...options, middleware, point }
    super('hook_contract', `middleware '${middleware}' at ${point}: ${message}`, fields)
  }
}

/** A model call failed, or a request was refused before it was sent. */
export class ModelError extends KoagentError {
  override readonly name: string = 'ModelError'
  declare readonly status?: number | undefined
  /** May the same request succeed later? */
  declare readonly retryable: boolean
  /** How long the provider asked to wait, in milliseconds: finite and not negative. */
  declare readonly retryAfterMs?: number | undefined
  declare readonly provider?: string | undefined
  declare readonly requestId?: string | undefined

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
    super('model', message, options)
  }
}

/** A tool call could not be carried out as asked: unknown tool, bad arguments, time limit, invalid output. */
export class ToolError extends KoagentError {
  override readonly name: string = 'ToolError'
  declare readonly toolName: string
  declare readonly callId: string

  constructor(toolName: string, callId: string, message: string, options?: KoagentErrorOptions) {
    const fields = { ...options, toolName, callId }
    super('tool', message, fields)
  }
}

/** The run was cancelled. `result` holds what there was by then. */
export class RunCancelledError extends KoagentError {
  // The name that fetch, the SDKs and other callers of AbortController look for.
  override readonly name: string = 'AbortError'
  declare readonly result: RunResult

  constructor(reason: unknown, options?: KoagentErrorOptions) {
    const why = messageOf(reason ?? '')
    super('run_cancelled', `the run was cancelled${why && `: ${why}`}`, { ...options, cause: reason })
  }
}

/** A second run wanted a session that is in use. */
export class SessionBusyError extends KoagentError {
  override readonly name: string = 'SessionBusyError'
  declare readonly sessionId: string
  declare readonly holder: string

  constructor(sessionId: string, holder: string, options?: KoagentErrorOptions) {
    const fields = { ...options, sessionId, holder }
    super('session_busy', `session '${sessionId}' is in use by run '${holder}': wait for its end, or use another session`, fields)
  }
}

/** The text of anything that was thrown. It never throws. */
export function messageOf(thrown: unknown): string {
  try {
    if (thrown instanceof Error) return thrown.message || thrown.name
    return isObject(thrown) ? JSON.stringify(thrown) : String(thrown)
  } catch {
    return 'something unreadable'
  }
}

const origins = new WeakMap<object, Origin>()

/** Where an error came from (middleware, hook point, tool, call, model), or undefined when koagent never saw it. */
export function originOf(error: unknown): Origin | undefined {
  return origins.get(error as object)
}

/** Remembers beside the error, not in it, where it was thrown. The last throw counts: an error object may be thrown again elsewhere. */
export function setOrigin(error: Error, origin: Origin): void {
  origins.set(error, origin)
}

/** The error itself, or a `KoagentError` with a thrown non-Error as its cause. */
export function toError(thrown: unknown, where: string): Error {
  if (thrown instanceof Error) return thrown
  return new KoagentError('thrown_value', `${where} threw what is no Error: ${messageOf(thrown)}`, { cause: thrown })
}
