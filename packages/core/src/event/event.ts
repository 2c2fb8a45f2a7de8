import type { Json, JsonObject } from '../json.ts'
import type { AssistantMessage, ContentPart, UserMessage } from '../message.ts'
import type { FinishReason, Usage } from '../model.ts'
import type { RunStatus, TurnStatus } from '../result.ts'
import type { Origin } from '../errors.ts'

/** What every event carries. */
export interface EventBase {
  /** Rises by one in delivery order. */
  readonly seq: number
  /** Derived from the event's position in the run: the same on a replay. */
  readonly id: string
  readonly runId: string
  readonly agent: string
  /** The names of the agents above this one; empty at the top. */
  readonly path: readonly string[]
  readonly turn: number
}

/** What events of an LLM step carry besides. */
export interface StepFields {
  /** `llm:<turn>` */
  readonly stepId: string
  readonly attempt: number
}

/** What events of a tool call carry besides. */
export interface CallFields {
  readonly callId: string
  readonly toolName: string
}

/** An error as events tell it. */
export interface ErrorFacts extends Origin {
  readonly name: string
  readonly message: string
  readonly code?: string
}

export type ToolStatus = 'ok' | 'error' | 'denied' | 'blocked' | 'invalid' | 'replaced' | 'cancelled' | 'withheld'

/** One thing that a layer changed: a rewritable field or the value it passed on. */
export interface Change {
  readonly field: string
  readonly before: Json
  readonly after: Json
}

/** The fields of each event type, besides {@link EventBase}. */
export interface EventFields {
  run_begin: { readonly input: UserMessage }
  turn_begin: object
  step_begin: StepFields
  text_delta: Partial<StepFields> & { readonly text: string }
  reasoning_delta: StepFields & { readonly text: string; readonly blockId?: string }
  tool_args_delta: StepFields & CallFields & { readonly delta: string }
  /** What the deltas of this step said so far is void; it starts again. */
  step_reset: StepFields & { readonly reason: string }
  step_end: StepFields & {
    readonly status: 'completed' | 'denied' | 'cancelled' | 'failed'
    readonly message?: AssistantMessage
    readonly finishReason?: FinishReason
    readonly usage: Usage
  }
  tool_call_begin: CallFields & { readonly args: JsonObject; readonly rawArgs?: string; readonly index: number }
  permission_request: CallFields & { readonly args: JsonObject; readonly reason: string; readonly asker: string }
  permission_resolved: CallFields & {
    readonly decision: 'allow' | 'deny'
    readonly args: JsonObject
    readonly reason?: string
    readonly by?: string
  }
  tool_progress: CallFields & { readonly data: Json }
  tool_result: CallFields & {
    readonly status: ToolStatus
    /** The arguments that were executed, or would have been. */
    readonly args: JsonObject
    readonly rawArgs?: string
    readonly content: readonly ContentPart[]
    readonly isError: boolean
    readonly value?: Json
    readonly durationMs: number
    /** The middleware whose decision this is, where it was one's. */
    readonly by?: string
    readonly error?: ErrorFacts
  }
  turn_end: { readonly status: TurnStatus }
  retry: Partial<StepFields> &
    Partial<CallFields> & { readonly attempt: number; readonly delayMs: number; readonly reason: string }
  hook_applied: Partial<CallFields> & {
    readonly middleware: string
    readonly point: string
    readonly changes: readonly Change[]
    readonly decision?: string
    readonly reason?: string
    /** Milliseconds spent in the layer itself, without its `next()`. */
    readonly durationMs: number
  }
  hook_error: Partial<CallFields> & { readonly middleware: string; readonly point: string; readonly error: ErrorFacts }
  error: { readonly error: ErrorFacts }
  custom: Partial<CallFields> & { readonly name: string; readonly data: Json; readonly middleware?: string }
  run_cancelled: { readonly reason: string }
  run_end: {
    readonly status: RunStatus
    readonly reason?: string
    readonly text: string
    readonly usage: Usage
    readonly turns: number
  }
}

export type EventType = keyof EventFields
export type EventOf<T extends EventType> = { [K in T]: { readonly type: K } & EventBase & EventFields[K] }[T]

/** A fact about a run: plain, frozen, JSON-serialisable. */
export type AgentEvent = EventOf<EventType>

export type ToolCallBegin = EventOf<'tool_call_begin'>
export type ToolResultEvent = EventOf<'tool_result'>

/** Events that no layer may drop: without them a consumer would wait for ever, or keep text that is void. */
export const structural: ReadonlySet<EventType> = new Set<EventType>([
  'run_begin',
  'run_end',
  'run_cancelled',
  'step_reset',
  'tool_result',
  'error',
])
