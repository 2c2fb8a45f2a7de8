import type { JsonObject } from './json.ts'
import type { Input } from './message.ts'
import type { StepRequest } from './hooks.ts'

/** Go on. Stricter decisions of other layers still win. */
export interface Allow {
  readonly kind: 'allow'
  readonly args?: never
  readonly context?: never
}

/** Go on with other arguments. */
export interface AllowArgs {
  readonly kind: 'allow'
  readonly args?: JsonObject
  readonly context?: never
}

/** Go on, with other arguments or with a note for the model beside the call's result. */
export interface AllowCall {
  readonly kind: 'allow'
  readonly args?: JsonObject
  readonly context?: string
}

/** Do not do it. The reason is shown to the model or the caller. */
export interface Deny {
  readonly kind: 'deny'
  readonly reason: string
}

/** A person should decide. */
export interface Ask {
  readonly kind: 'ask'
  readonly reason: string
}

/** Do not do it; go on as if `result` had come out. */
export interface ReplaceResult<Result = unknown> {
  readonly kind: 'replace_result'
  readonly result: Result
}

/** Throw the outcome away and make a new pass. */
export interface Retry {
  readonly kind: 'retry'
  /** Milliseconds before the new pass. Default 0. */
  readonly delayMs?: number
  readonly reason?: string
  /** At an LLM step: fields merged into the prepared request of later attempts. */
  readonly request?: Partial<StepRequest>
}

/**
 * End the run in an orderly way, with status 'stopped': what runs is finished and stored, and no model call follows.
 * At on_stop, where the run is about to end anyway, it lets it: the status is 'completed'.
 */
export interface Stop {
  readonly kind: 'stop'
  readonly reason: string
  /** At before_tool: the answer to the call that is not executed. Default: the reason. */
  readonly result?: unknown
}

/** Do not end the run yet: hand this message to the model and go on. */
export interface ContinueRun {
  readonly kind: 'continue_run'
  readonly message: Input
}

/** Let the failure stand, as this error. */
export interface Raise {
  readonly kind: 'raise'
  readonly error: unknown
}

/** Keep the event from consumers. */
export interface Drop {
  readonly kind: 'drop'
}

export type Decision = Allow | AllowCall | Deny | Ask | ReplaceResult | Retry | Stop | ContinueRun | Raise | Drop

export function allow(): Allow
export function allow(fields: { readonly args: JsonObject }): AllowArgs
export function allow(fields: { readonly args?: JsonObject; readonly context?: string }): AllowCall
export function allow(fields?: { readonly args?: JsonObject; readonly context?: string }): AllowCall {
  return Object.freeze({ kind: 'allow', ...fields })
}

export function deny(reason: string): Deny {
  return Object.freeze({ kind: 'deny', reason })
}

export function ask(reason: string): Ask {
  return Object.freeze({ kind: 'ask', reason })
}

export function replace_result<Result>(result: Result): ReplaceResult<Result> {
  return Object.freeze({ kind: 'replace_result', result })
}

export function retry(fields: Omit<Retry, 'kind'> = {}): Retry {
  return Object.freeze({ kind: 'retry', ...fields })
}

export function stop(reason: string, result?: unknown): Stop {
  return Object.freeze(result === undefined ? { kind: 'stop', reason } : { kind: 'stop', reason, result })
}

export function continue_run(message: Input): ContinueRun {
  return Object.freeze({ kind: 'continue_run', message })
}

export function raise(error: unknown): Raise {
  return Object.freeze({ kind: 'raise', error })
}

export function drop(): Drop {
  return Object.freeze({ kind: 'drop' })
}

/** Is this value a decision? Recognised by structure, so that packages with a copy of core of their own can be mixed. */
export function isDecision(value: unknown): value is Decision {
  return typeof value === 'object' && value !== null && 'kind' in value && typeof value.kind === 'string'
}
