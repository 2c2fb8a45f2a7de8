import type { AllowArgs, Allow, AllowCall, Ask, ContinueRun, Deny, Drop, Raise, ReplaceResult, Retry, Stop } from './decision.ts'
import type { Context } from './ctx.ts'
import type { AgentEvent } from './event/event.ts'
import type { JsonObject } from './json.ts'
import { isInput, textOf } from './message.ts'
import type { Input, Message, ToolCallPart, ToolResult, UserMessage } from './message.ts'
import type { LLMStep, Model, ModelPart, ModelSettings, ToolChoice } from './model.ts'
import { isRunResult, isTurnResult } from './result.ts'
import type { RunResult, TurnResult } from './result.ts'
import type { Session } from './session/session.ts'
import type { Tool } from './tool/define.ts'
import { isToolResult } from './tool/serialise.ts'

/** The request of an LLM step while layers may still change it. */
export interface StepRequest {
  readonly model: Model
  readonly system?: string
  readonly messages: readonly Message[]
  readonly tools: readonly Tool[]
  readonly toolChoice?: ToolChoice
  readonly settings?: ModelSettings
}

/** A rewrite of a model's stream; see `ctx.transform`. */
export type Transform = (parts: AsyncIterable<ModelPart>) => AsyncIterable<ModelPart>

interface AddsContext {
  /** Adds a note for the model. Notes of several layers are joined by a newline, in registration order. */
  addContext(text: string): void
}

interface CallAdds {
  readonly toolCall: ToolCallPart
  readonly toolName: string
  readonly tool: Tool
}

interface StepAdds {
  /** 'helper' when a middleware asked by `ctx.callModel`. */
  readonly purpose: 'step' | 'helper'
}

/** What a chain does with its layers' values. */
export type PointKind = 'gate' | 'around' | 'after' | 'observer'

/** One row of the hook table. The phantom cells (`adds`, `next`, `may`) exist for types alone. */
export interface HookPoint {
  readonly kind: PointKind
  /** Kinds of decision that may be returned, strictest first. */
  readonly decisions: readonly string[]
  /** Fields and methods of the ctx, besides those that every ctx has. */
  readonly fields: readonly string[]
  /** The fields among them that may be assigned; the first of an after point is its value. */
  readonly write: readonly string[]
  /** Could work start inside? Then `next()` refuses once the run is cancelled. */
  readonly starts: boolean
  /** A layer's failure is a deny, whatever its `errors` says. */
  readonly failClosed?: true
  /** Is this what an around or after point passes on? */
  readonly accepts?: Accepts
  /** Is this what a replace_result or continue_run at a gate may carry? Absent where anything may. */
  readonly carries?: Carries
  readonly adds: unknown
  readonly next: unknown
  readonly may: unknown
}

type Accepts = (value: unknown) => boolean
type Carries = (value: unknown, fields: Readonly<Record<string, unknown>>) => boolean

const type = undefined as never

/**
 * Every point of a run at which middleware stands, in the order of a run. Types, chains and the reference (docs/hooks.md) derive from this table.
 */
export const hooks = {
  /** The session's first run in this process. What `addContext` gets is stored before the first message. */
  on_session_start: {
    kind: 'observer',
    decisions: [],
    fields: ['source', 'session', 'addContext'],
    write: [],
    starts: false,
    adds: type as AddsContext & { readonly source: 'startup' | 'resume'; readonly session: Session },
    next: type as void,
    may: type as void,
  },
  /** Before anything of the run: refuse it, answer at once, set its turn limit. May change the session. */
  before_run: {
    kind: 'gate',
    decisions: ['deny', 'replace_result', 'allow'],
    fields: ['maxTurns', 'session'],
    write: ['maxTurns'],
    starts: true,
    carries: isInput as Accepts,
    adds: type as { maxTurns: number; readonly session: Session },
    next: type as RunDecision | undefined,
    may: type as RunDecision,
  },
  /** Around the whole run: scopes, transactions, spans. */
  around_run: {
    kind: 'around',
    decisions: [],
    fields: ['signal'],
    write: ['signal'],
    starts: true,
    accepts: isRunResult as Accepts,
    adds: type as { signal: AbortSignal },
    next: type as RunResult,
    may: type as RunResult,
  },
  /** A message that goes in: the run's input, one that steers the run, or one that keeps it going. A deny ends the run only at its input. */
  on_input: {
    kind: 'gate',
    decisions: ['deny', 'allow'],
    fields: ['message', 'source'],
    write: ['message'],
    starts: true,
    adds: type as { message: UserMessage; readonly source: 'run' | 'steer' | 'continue_run' },
    next: type as Allow | Deny | undefined,
    may: type as Allow | Deny,
  },
  /** Before a turn: one LLM step and its tools. May change the session. */
  before_turn: {
    kind: 'gate',
    decisions: ['deny', 'replace_result', 'allow'],
    fields: ['maxTurns', 'session'],
    write: ['maxTurns'],
    starts: true,
    carries: isInput as Accepts,
    adds: type as { maxTurns: number; readonly session: Session },
    next: type as RunDecision | undefined,
    may: type as RunDecision,
  },
  /** Before the model is asked: change the request, add a note that only this call sees, answer in the model's place. May change the session. */
  before_llm_step: {
    kind: 'gate',
    decisions: ['deny', 'replace_result', 'allow'],
    fields: ['request', 'purpose', 'session', 'addContext'],
    write: ['request'],
    starts: true,
    carries: isStepOrText as Accepts,
    adds: type as AddsContext & StepAdds & { request: StepRequest; readonly session: Session },
    next: type as StepDecision | undefined,
    may: type as StepDecision,
  },
  /** Around each attempt to get an answer from the model: time limits, caches, transforms of the stream. */
  around_llm_step: {
    kind: 'around',
    decisions: [],
    fields: ['request', 'signal', 'attempt', 'purpose', 'transform'],
    write: ['request', 'signal'],
    starts: true,
    accepts: isStep as Accepts,
    adds: type as StepAdds & {
      request: StepRequest
      signal: AbortSignal
      /** 1-based. */
      readonly attempt: number
      /** Rewrites the parts of the model's stream for everything behind it: events, hooks and the session. Inner layers' transforms come first. */
      transform(transform: Transform): void
    },
    next: type as LLMStep,
    may: type as LLMStep,
  },
  /** The model's whole answer, before it is stored: rewrite it, ask again, end the run. */
  after_llm_step: {
    kind: 'after',
    decisions: ['stop', 'retry'],
    fields: ['step', 'request', 'attempt', 'purpose'],
    write: ['step'],
    starts: true,
    accepts: isStep as Accepts,
    adds: type as StepAdds & { readonly request: StepRequest; step: LLMStep; readonly attempt: number },
    next: type as LLMStep,
    may: type as LLMStep | Retry | Stop,
  },
  /** May this call run with exactly these arguments? Asked again when they change. Fails closed. */
  on_permission: {
    kind: 'gate',
    decisions: ['deny', 'ask', 'allow'],
    fields: ['toolCall', 'toolName', 'tool', 'args'],
    write: [],
    starts: true,
    failClosed: true,
    adds: type as CallAdds & { readonly args: JsonObject },
    next: type as Allow | Ask | Deny | undefined,
    may: type as Allow | Ask | Deny,
  },
  /** Before a call: rewrite its arguments, block it, ask, answer in its place, end the run. */
  before_tool: {
    kind: 'gate',
    decisions: ['deny', 'ask', 'replace_result', 'allow', 'stop'],
    fields: ['toolCall', 'toolName', 'tool', 'args', 'addContext'],
    write: ['args'],
    starts: true,
    adds: type as AddsContext & CallAdds & { args: JsonObject },
    next: type as ToolDecision | undefined,
    may: type as ToolDecision,
  },
  /** Somebody asked: answer in the human's place. `next()` asks the layers further in, then the human. Fails closed. */
  on_permission_request: {
    kind: 'gate',
    decisions: ['deny', 'allow'],
    fields: ['toolCall', 'toolName', 'tool', 'args', 'reason', 'asker'],
    write: ['args'],
    starts: true,
    failClosed: true,
    adds: type as CallAdds & { args: JsonObject; readonly reason: string; readonly asker: string },
    next: type as AllowArgs | Deny | undefined,
    may: type as AllowArgs | Deny,
  },
  /** Around each attempt to execute a tool: time limits, caches, retries by decision, sandboxes. */
  around_tool: {
    kind: 'around',
    decisions: [],
    fields: ['toolCall', 'toolName', 'tool', 'args', 'signal', 'attempt', 'idempotencyKey', 'progress'],
    write: ['signal'],
    starts: true,
    accepts: isToolResult as Accepts,
    adds: type as CallAdds & {
      readonly args: JsonObject
      signal: AbortSignal
      /** 1-based. */
      readonly attempt: number
      /** The same for every attempt of this call. */
      readonly idempotencyKey: string
      /** Emits `tool_progress`. Await it to be held by a slow consumer. */
      progress(data: unknown): void | Promise<void>
    },
    next: type as ToolResult,
    may: type as ToolResult,
  },
  /** A call's result, before anybody sees it: rewrite it, try again, end the run. When it fails, the result is withheld. */
  after_tool: {
    kind: 'after',
    decisions: ['stop', 'retry'],
    fields: ['result', 'toolCall', 'toolName', 'tool', 'args', 'executed', 'durationMs', 'addContext'],
    write: ['result'],
    starts: true,
    accepts: isToolResult as Accepts,
    adds: type as AddsContext &
      CallAdds & {
        readonly args: JsonObject
        result: ToolResult
        /** False when a layer answered in the tool's place. */
        readonly executed: boolean
        readonly durationMs: number
      },
    next: type as ToolResult,
    may: type as ToolResult | Retry | Stop,
  },
  /** A turn is over, however it ended. */
  after_turn: {
    kind: 'after',
    decisions: ['stop'],
    fields: ['result', 'maxTurns'],
    write: ['result', 'maxTurns'],
    starts: false,
    accepts: isTurnResult as Accepts,
    adds: type as { result: TurnResult; maxTurns: number },
    next: type as TurnResult,
    may: type as TurnResult | Stop,
  },
  /** The model has answered without calling a tool. May the run end? */
  on_stop: {
    kind: 'gate',
    decisions: ['stop', 'continue_run'],
    fields: ['result', 'stopHookActive', 'continuations'],
    write: [],
    starts: true,
    carries: isInput as Accepts,
    adds: type as {
      readonly result: RunResult
      /** Has an on_stop layer already kept this run going? */
      readonly stopHookActive: boolean
      readonly continuations: number
    },
    next: type as Stop | ContinueRun | undefined,
    may: type as Stop | ContinueRun,
  },
  /** A failure that no layer caught. Default: let it stand (a tool's failure becomes an error result). `retry` and `replace_result` count at an LLM step and a tool. */
  on_error: {
    kind: 'gate',
    decisions: ['raise', 'replace_result', 'retry'],
    fields: ['error', 'phase', 'attempt', 'toolCall', 'toolName'],
    write: [],
    starts: true,
    carries: answersFailure as Carries,
    adds: type as {
      readonly error: Error
      readonly phase: 'llm_step' | 'tool' | 'hook' | 'session'
      readonly attempt: number
      readonly toolCall?: ToolCallPart
      readonly toolName?: string
    },
    next: type as ErrorDecision | undefined,
    may: type as ErrorDecision,
  },
  /** Every event, or with `onEvents` those of the types that a layer wants: one at a time, in order. Changing and dropping them takes `onEvents(types, handler, { rewrite: true })`. */
  on_event: {
    kind: 'observer',
    decisions: ['drop'],
    fields: ['event'],
    write: ['event'],
    starts: false,
    adds: type as { readonly event: AgentEvent },
    next: type as void,
    may: type as void | Drop,
  },
  /** The run is over, however it ended. */
  after_run: {
    kind: 'after',
    decisions: [],
    fields: ['result'],
    write: ['result'],
    starts: false,
    accepts: isRunResult as Accepts,
    adds: type as { result: RunResult },
    next: type as RunResult,
    may: type as RunResult,
  },
  /** The session is over (`agent.endSession`). Together its layers have 1.5 s, or what `endSession` was given. */
  on_session_end: {
    kind: 'observer',
    decisions: [],
    fields: ['reason'],
    write: [],
    starts: false,
    adds: type as { readonly reason: string },
    next: type as void,
    may: type as void,
  },
} as const

hooks satisfies Record<string, HookPoint>

/** A run or a turn that a layer answers: with text or parts for the assistant's message. */
export type RunDecision = Allow | Deny | ReplaceResult<Input>
export type StepDecision = Allow | Deny | ReplaceResult<LLMStep | string>
export type ToolDecision = AllowCall | Ask | Deny | ReplaceResult | Stop
export type ErrorDecision = Raise | Retry | ReplaceResult

type Table = typeof hooks

/** The name of a hook point. */
export type Point = keyof Table

/** What a hook gets at this point. */
export type Ctx<P extends Point, Meta = unknown> = Omit<Context<Meta>, keyof Table[P]['adds']> & {
  readonly point: P
} & Table[P]['adds']

/** What a hook may return at this point. Returning nothing repeats what `next()` gave. */
export type May<P extends Point> = Table[P]['may'] | void

/** One layer at one hook point. */
export type Hook<P extends Point, Meta = unknown> = (
  this: void,
  ctx: Ctx<P, Meta>,
  next: () => Promise<Table[P]['next']>,
) => May<P> | Promise<May<P>>

/** The hooks of a middleware, each optional. */
export type Hooks<Meta = unknown> = { readonly [P in Point]?: Hook<P, Meta> }

export const points: readonly Point[] = Object.keys(hooks) as Point[]

/** A tool's failure may be answered with anything, a step's with a step. */
function answersFailure(value: unknown, { phase }: Readonly<Record<string, unknown>>): boolean {
  return phase !== 'llm_step' || isStepOrText(value)
}

/** Is it a whole step, or the text of one? */
function isStepOrText(value: unknown): value is LLMStep | string {
  return typeof value === 'string' || isStep(value)
}

function isStep(value: unknown): value is LLMStep {
  const message = (value as Partial<LLMStep> | undefined)?.message
  return message?.role === 'assistant' && Array.isArray(message.content) && typeof textOf(message) === 'string'
}
