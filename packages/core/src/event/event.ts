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
  /** The first event. */
  run_begin: { readonly input: UserMessage }
  /** A turn begins: one LLM step and its tools. */
  turn_begin: object
  /** The model is about to be asked. Once a step, however many attempts it takes. */
  step_begin: StepFields
  /** A piece of the answer. */
  text_delta: Partial<StepFields> & { readonly text: string }
  /** A piece of the model's thinking. */
  reasoning_delta: StepFields & { readonly text: string; readonly blockId?: string }
  /** A piece of a call's arguments, as JSON text. The whole call follows in `tool_call_begin`. */
  tool_args_delta: StepFields & CallFields & { readonly delta: string }
  /** What the deltas of this step said so far is void; it starts again. */
  step_reset: StepFields & { readonly reason: string }
  /** The step is over; `message` is the whole answer as it is stored. */
  step_end: StepFields & {
    /** 'interrupted': a message that steers the run broke it off; `message` is what is kept. */
    readonly status: 'completed' | 'interrupted' | 'denied' | 'cancelled' | 'failed'
    readonly message?: AssistantMessage
    readonly finishReason?: FinishReason
    readonly usage: Usage
  }
  /** A call, before anybody has judged it. Every call has one, and one `tool_result`. */
  tool_call_begin: CallFields & { readonly args: JsonObject; readonly rawArgs?: string; readonly index: number }
  /** A layer, or the tool itself, asked whether this call may run. */
  permission_request: CallFields & { readonly args: JsonObject; readonly reason: string; readonly asker: string }
  /** The question is answered. */
  permission_resolved: CallFields & {
    readonly decision: 'allow' | 'deny'
    readonly args: JsonObject
    readonly reason?: string
    readonly by?: string
  }
  /** What a tool says of itself while it runs. */
  tool_progress: CallFields & { readonly data: Json }
  /** What a call came to, as the model will see it. Sent as soon as it is known. */
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
  /** The turn is over, however it ended. */
  turn_end: { readonly status: TurnStatus }
  /** A message that steers the run is in the history (`controller.steer`), as the model will see it. */
  steer: { readonly message: UserMessage }
  /** A step or a call is tried again, after `delayMs`. */
  retry: Partial<StepFields> &
    Partial<CallFields> & { readonly attempt: number; readonly delayMs: number; readonly reason: string }
  /** A layer changed or decided something. Only with `trace: true`. */
  hook_applied: Partial<CallFields> & {
    readonly middleware: string
    readonly point: string
    readonly changes: readonly Change[]
    readonly decision?: string
    readonly reason?: string
    /** Milliseconds spent in the layer itself, without its `next()`. */
    readonly durationMs: number
  }
  /** A layer failed, or broke a rule of its point. */
  hook_error: Partial<CallFields> & { readonly middleware: string; readonly point: string; readonly error: ErrorFacts }
  /** Why the run failed. Once, right before `run_end`. */
  error: { readonly error: ErrorFacts }
  /** Sent by a layer or a tool with `ctx.emit`. */
  custom: Partial<CallFields> & { readonly name: string; readonly data: Json; readonly middleware?: string }
  /** The run was cancelled. Right before `run_end`. */
  run_cancelled: { readonly reason: string }
  /** The last event. */
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

/** Events that say how a run ended: they wait for no consumer. */
export const terminal: ReadonlySet<EventType> = new Set<EventType>(['error', 'run_cancelled', 'run_end'])

/** Their text comes in pieces. */
export const streamed: ReadonlySet<EventType> = new Set<EventType>(['text_delta', 'reasoning_delta'])

/** Events that no layer may drop: without them a consumer would wait for ever, or keep text that is void. */
export const structural: ReadonlySet<EventType> = new Set<EventType>([
  'run_begin',
  'run_end',
  'run_cancelled',
  'step_reset',
  'tool_result',
  'error',
])

/** What no rewrite of an event changes, where it has it. */
const identity = ['type', 'id', 'runId', 'agent', 'path', 'turn', 'stepId', 'attempt', 'callId', 'toolName'] as const

/** A rewritten event with the identity of the one that it stands for. */
export function rewritten(event: object, original: object): object {
  const kept = original as Readonly<Record<string, unknown>>
  return { ...event, ...Object.fromEntries(identity.filter((name) => name in kept).map((name) => [name, kept[name]])) }
}
