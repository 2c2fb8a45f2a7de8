import type { RunController } from './controller.ts'
import type { Decision } from './decision.ts'
import type { StepRequest, Point } from './hooks.ts'
import type { Json } from './json.ts'
import type { Message, UserMessage } from './message.ts'
import type { LLMStep } from './model.ts'
import type { Runtime, Logger } from './runtime.ts'
import type { StateKey } from './state.ts'

/** A session as everybody may see it. */
export interface SessionView {
  readonly id: string
  readonly messages: readonly Message[]
}

/** What a middleware asks a model by `ctx.callModel`. What is left out is the run's own. */
export type HelperRequest = Partial<Pick<StepRequest, 'model' | 'system' | 'tools' | 'toolChoice' | 'settings'>> &
  Pick<StepRequest, 'messages'>

/** What every hook gets. It is frozen and deep-frozen; what a layer sets or emits after its scope has ended is dropped. */
export interface Context<Meta = unknown> {
  readonly point: Point
  readonly agent: { readonly name: string; readonly version?: string | undefined }
  /** A view. The session itself, which can be changed, is there at the four points before the model is asked. */
  readonly session: SessionView
  readonly runId: string
  /** 0-based. */
  readonly turn: number
  /** The run's input as it was given. */
  readonly input: UserMessage
  /** The run's `metadata`, frozen. */
  readonly metadata: Meta
  /** Aborts when the run is cancelled; at the points of an LLM step, up to the model's answer, also when somebody interrupts that. */
  readonly signal: AbortSignal
  readonly cancelled: boolean
  /** Cancels this run, or steers it: `ctx.controller.cancel(reason)`, `ctx.controller.steer(message)`. */
  readonly controller: RunController
  /** `now()`, `sleep(ms)`, `randomId()`: in their place, tests and engines put their own. */
  readonly runtime: Runtime
  readonly logger: Logger
  /** The names of the agents above this one; empty at the top. */
  readonly path: readonly string[]
  /** The strictest decision of this pass so far. */
  readonly decision: Decision | undefined
  /** The run's state under this key, or its default; see `stateKey`. */
  get<T>(key: StateKey<T>): T
  set<T>(key: StateKey<T>, value: T): void
  /** Sets what the reducer makes of the value, and returns it. */
  update<T>(key: StateKey<T>, reducer: (value: T) => T): T
  /** Queues a `custom` event and returns at once. */
  emit(name: string, data?: unknown): void
  /**
   * Asks a model for this middleware's own purposes: a guard, a summary, a vote. The llm_step layers apply (those that are asking already excepted),
   * its usage counts, its tool calls are never executed, and it puts nothing into the stream but one `custom` event.
   */
  callModel(request: HelperRequest): Promise<LLMStep>
  /** The value with every sanitizer of the agent applied to its strings: for a layer's own sinks. */
  sanitize(value: Json): Json
}
