import { isObject } from './json.ts'
import type { Message, ToolResultPart, AssistantMessage, UserMessage } from './message.ts'
import type { Usage } from './model.ts'

/** How a run ended. `run()` returns the first four; hooks and events also see the last two. */
export type RunStatus = 'completed' | 'stopped' | 'denied' | 'max_turns' | 'cancelled' | 'failed'

/** What a run came to. */
export interface RunResult {
  readonly runId: string
  readonly status: RunStatus
  /** Why it was stopped, denied, cancelled or failed, or 'capped' after too many continuations. */
  readonly reason?: string
  /** The last answer's text; the reason when the run was denied. */
  readonly text: string
  /** What this run added to the session, in order. */
  readonly messages: readonly Message[]
  /** All model calls of the run, failed attempts and helper calls included. */
  readonly usage: Usage
  /** Turns that were begun. */
  readonly turns: number
  /** Messages of `controller.steer` that did not reach the model, in order. Absent when there are none. */
  readonly undelivered?: readonly UserMessage[]
}

/** How a turn ended: the model is asked again, it was the last turn, or the run ended within it. */
export type TurnStatus = 'completed' | 'stopped' | 'denied' | 'cancelled' | 'failed'

/** One LLM step and its tools. */
export interface TurnResult {
  readonly turn: number
  readonly status: TurnStatus
  /** The model's message; absent when the turn ended before there was one. */
  readonly message?: AssistantMessage
  readonly toolResults: readonly ToolResultPart[]
}

export function isRunResult(value: unknown): value is RunResult {
  return isObject(value) && typeof value.status === 'string' && typeof value.text === 'string' && Array.isArray(value.messages)
}

export function isTurnResult(value: unknown): value is TurnResult {
  return isObject(value) && typeof value.status === 'string' && typeof value.turn === 'number' && Array.isArray(value.toolResults)
}
