import type { Chains } from '../chain/compile.ts'
import { Unit } from '../chain/layer.ts'
import type { Layer } from '../chain/layer.ts'
import { Pass } from '../chain/pass.ts'
import type { RunController } from '../controller.ts'
import type { HelperRequest } from '../ctx.ts'
import type { Decision } from '../decision.ts'
import { KoagentError, messageOf, originOf, toError } from '../errors.ts'
import { Emitter } from '../event/emitter.ts'
import type { Source } from '../event/emitter.ts'
import type { ErrorFacts, EventFields, EventType } from '../event/event.ts'
import type { EventQueue } from '../event/queue.ts'
import type { Sanitizer } from '../event/sanitizer.ts'
import { deepFreeze } from '../freeze.ts'
import type { Open } from '../freeze.ts'
import type { Point, StepRequest } from '../hooks.ts'
import type { Json } from '../json.ts'
import type { Message, ToolCallPart, UserMessage } from '../message.ts'
import { addUsage, noUsage } from '../model.ts'
import type { LLMStep, Model, Usage } from '../model.ts'
import type { WhenContext } from '../middleware/wrap.ts'
import type { RunResult, RunStatus } from '../result.ts'
import { runtimeUnder } from '../runtime.ts'
import type { Logger, Runtime, RuntimeOptions } from '../runtime.ts'
import { CallIds } from '../session/call-ids.ts'
import { SessionHandle } from '../session/handle.ts'
import { nothingYet } from '../session/pairs.ts'
import type { Sound } from '../session/pairs.ts'
import type { Session } from '../session/session.ts'
import type { Cancellation } from '../signal.ts'
import { StateStore } from '../state.ts'
import { helperStep } from '../step/helper.ts'
import type { Tool } from '../tool/define.ts'
import { toJson } from '../tool/serialise.ts'
import { Grace } from './grace.ts'
import type { Waiting } from './waiting.ts'

/** What all runs of an agent have in common. */
export interface AgentParts {
  readonly agent: { readonly name: string; readonly version?: string | undefined }
  readonly model: Model
  readonly instructions: string | undefined
  readonly tools: readonly Tool[]
  readonly toolConcurrency: number
  readonly trace: boolean
  /** How a person is asked. Undefined: there is nobody. */
  readonly approvals: Waiting | undefined
  readonly chains: Chains
  readonly sanitizer: Sanitizer | undefined
  readonly clock: Required<RuntimeOptions>
  readonly logger: Logger
}

/** What a run has of its own. */
export interface RunParts {
  readonly runId: string
  readonly maxTurns: number
  readonly input: UserMessage
  readonly metadata: unknown
  readonly session: Session
  /** Does the session start and end with this run? */
  readonly ownSession: boolean
  /** Does it wait for a session that is in use? */
  readonly queueing: Waiting | undefined
  readonly controller: RunController
}

/** What a failing hook, step or tool is asked about at on_error. */
export interface Failure {
  readonly error: Error
  readonly phase: 'llm_step' | 'tool' | 'hook' | 'session'
  readonly attempt?: number
  readonly toolCall?: ToolCallPart
}

interface ThroughOptions {
  /** Part of a run's end, which goes on whatever the flags say. */
  readonly exit?: boolean
  readonly excluded?: ReadonlySet<Layer> | undefined
  readonly yesUpTo?: number
  /** What stands behind the last layer of a gate, and decides on the pass. */
  readonly innermost?: ((pass: Pass) => Promise<unknown>) | undefined
}

const top: readonly string[] = deepFreeze([])

/** One run while it lasts: its parts, and what its loop, its layers and its tools share. */
export class ActiveRun implements AgentParts, RunParts {
  readonly agent: AgentParts['agent']
  readonly model: Model
  readonly instructions: string | undefined
  readonly tools: readonly Tool[]
  readonly toolConcurrency: number
  readonly trace: boolean
  readonly approvals: Waiting | undefined
  readonly chains: Chains
  readonly sanitizer: Sanitizer | undefined
  readonly clock: Required<RuntimeOptions>
  readonly logger: Logger
  readonly runId: string
  maxTurns: number
  readonly input: UserMessage
  readonly metadata: unknown
  readonly session: Session
  readonly ownSession: boolean
  readonly queueing: Waiting | undefined
  readonly controller: RunController
  readonly runtime: Runtime
  readonly state: StateStore = new StateStore()
  readonly path: readonly string[] = top
  readonly callIds: CallIds
  /** Through it all writes go. */
  readonly handle: SessionHandle
  /** What is known of the session's messages, where the session goes with the run. */
  readonly history: Sound | undefined
  readonly cancellation: Cancellation
  readonly unit: Unit = new Unit('run', 0)
  /** Chains in progress. */
  readonly passes: Set<Pass> = new Set()
  readonly grace: Grace = new Grace(this)
  /** Has the session begun? */
  hasSession = false
  turns = 0
  continuations = 0
  usage: Usage = noUsage
  /** The last answer's text. */
  text = ''
  /** The LLM step that a person may interrupt. */
  #step: Unit | undefined
  /** Set by a stop decision: no further model call. */
  stopping: string | undefined
  readonly added: Message[] = []
  readonly #emitter: Emitter
  /** Failures that on_error has been asked about. */
  #asked: WeakSet<Error> | undefined
  #eventFailure: { readonly error: unknown } | undefined
  /** How often each middleware has asked a model at each operation. */
  #helpers: Map<string, number> | undefined
  #innerRuntime: Runtime | undefined

  constructor(common: AgentParts, own: RunParts, queue?: EventQueue) {
    this.agent = common.agent
    this.model = common.model
    this.instructions = common.instructions
    this.tools = common.tools
    this.toolConcurrency = common.toolConcurrency
    this.trace = common.trace
    this.approvals = common.approvals
    this.chains = common.chains
    this.sanitizer = common.sanitizer
    this.clock = common.clock
    this.logger = common.logger
    this.runId = own.runId
    this.maxTurns = own.maxTurns
    this.input = own.input
    this.metadata = own.metadata
    this.session = own.session
    this.ownSession = own.ownSession
    this.queueing = own.queueing
    this.controller = own.controller
    this.cancellation = own.controller.cancellation
    this.runtime = runtimeUnder(this.cancellation, this.clock)
    this.history = own.ownSession ? nothingYet() : undefined
    this.callIds = new CallIds(own.session, this.history)
    this.handle = new SessionHandle(own.session, () => this.history && Object.assign(this.history, nothingYet()))
    this.#emitter = new Emitter(this, queue)
  }

  /** What ends the work of a unit. */
  scopeOf({ scope }: Unit): Cancellation {
    return scope ?? this.cancellation
  }

  /** `runtime` for work whose waits end with this. */
  runtimeUnder(scope: Cancellation): Runtime {
    if (scope === this.cancellation) return this.runtime
    return (this.#innerRuntime ??= runtimeUnder(scope, this.clock))
  }

  beginStep(unit: Unit): void {
    this.#step = unit
    unit.scope = this.cancellation.inner
  }

  /** Nobody interrupts it any more; what it has left to do may wait again. */
  endStep(unit: Unit): void {
    this.#step = undefined
    this.closeScope(unit)
  }

  /** What a step waits for from now on ends with the run alone. */
  closeScope(unit: Unit): void {
    unit.scope = undefined
    const { error, inner } = this.cancellation
    if (error || !inner.error) return
    this.grace.pause()
    inner.resume()
  }

  /** A person wants to be heard: the LLM step that is under way, if one is, ends early. */
  interrupt(): void {
    if (!this.#step) return
    this.#step.isInterrupted = true
    const { scope } = this.#step
    // Its answer is there, and only being looked at.
    if (!scope) return
    scope.interrupt(
      new KoagentError('interrupted', 'the LLM step was interrupted: somebody steers the run', { runId: this.runId }),
    )
    this.grace.start()
  }

  /** Throws where the work must not go on: cancelled, interrupted, or failed by a layer that observes events. */
  check(unit: Unit = this.unit): void {
    const { error } = this.scopeOf(unit)
    if (error) throw error
    if (this.#eventFailure) throw this.#eventFailure.error
  }

  get cancelled(): boolean {
    return this.cancellation.cancelled
  }

  /** Must everything that is under way end? Then nothing starts any more. */
  get ending(): boolean {
    return this.cancellation.error !== undefined
  }

  /** Does the work within a layer's own signal: once that aborts, everything inside ends with its reason, an ordinary error. */
  async under<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    const { cancellation, grace } = this
    const interrupt = (): void => {
      cancellation.interrupt(toError(signal.reason, 'a signal'))
      grace.start()
    }
    if (signal.aborted) interrupt()
    else signal.addEventListener('abort', interrupt)
    try {
      const value = await work()
      this.check()
      return value
    } finally {
      signal.removeEventListener('abort', interrupt)
      if (!cancellation.cancelled) {
        grace.pause()
        cancellation.resume()
      }
    }
  }

  /**
   * Sends a pass through a point's layers, if it has any, and then checks the run's flags.
   *
   * @returns a promise where a layer takes its time
   */
  through(
    point: Point,
    unit: Unit,
    fields: Record<string, unknown>,
    { exit = false, yesUpTo = Infinity, excluded, innermost }: ThroughOptions = {},
  ): Pass | Promise<Pass> | undefined {
    const chain = this.chains.at[point]
    if (!chain && !innermost) return undefined
    const pass: Pass = new Pass(this, point, unit, fields, innermost && (() => innermost(pass)), excluded)
    pass.yesUpTo = yesUpTo
    const leaving = chain ? pass.enter(chain) : pass.end()
    if (leaving) return this.#left(leaving, pass, exit)
    if (!exit) this.check(unit)
    return pass
  }

  async #left(leaving: Promise<unknown>, pass: Pass, exit: boolean): Promise<Pass> {
    await leaving
    if (!exit) this.check(pass.unit)
    return pass
  }

  /** Could anybody hear of an event? */
  get heard(): boolean {
    return this.#emitter.heard
  }

  emit<T extends EventType>(type: T, fields: EventFields[T], unit: Unit = this.unit, source?: Source): void | Promise<void> {
    return this.#emitter.emit(type, fields, unit, source)
  }

  emitText(text: string, attempt: number, unit: Unit): void | Promise<void> {
    return this.#emitter.text(text, attempt, unit)
  }

  emitCustom(name: string, data: unknown, pass: Pass, layer: Layer): void {
    void this.emit(
      'custom',
      { name, data: toJson(data), middleware: layer.name, ...callOf(pass.unit) },
      pass.unit,
      sourceOf(pass, layer),
    )
  }

  emitApplied(fields: EventFields['hook_applied'], pass: Pass): void {
    void this.emit('hook_applied', { ...fields, ...callOf(pass.unit) }, pass.unit, sourceOf(pass))
  }

  emitProgress(unit: Unit, data: Json, source?: Source): void | Promise<void> {
    return this.emit('tool_progress', { callId: unit.callId ?? '', toolName: unit.toolName ?? '', data }, unit, source)
  }

  /** A layer failed: the event, and under 'log' a line in the log. What follows from it is the layer's policy. */
  hookFailed(error: Error, layer: Layer, pass: Pass): void {
    if (layer.errors === 'log') this.log(`middleware '${layer.name}' failed at ${pass.name}:`, error)
    const fields = { middleware: layer.name, point: pass.name, error: factsOf(error), ...callOf(pass.unit) }
    void this.emit('hook_error', fields, pass.unit, sourceOf(pass, layer))
  }

  /** A logger that fails is no reason for a run to fail. */
  log(message: string, error: unknown): void {
    try {
      this.logger.error(message, error)
    } catch {
      // There is nobody left to tell.
    }
  }

  /** An on_event layer failed: the next check of the loop throws its error. */
  failAtLoop(error: unknown): void {
    if (error !== this.cancellation.error) this.#eventFailure ??= { error }
  }

  /** An on_event layer may fail when the run's outcome has been told, or when something else has failed it: then the log is all there is. */
  logUnheard(told: unknown): void {
    const failure = this.#eventFailure
    if (failure && failure.error !== told)
      this.log(`a layer failed at on_event, which could not fail run '${this.runId}' any more:`, failure.error)
  }

  /** Asks on_error about a failure. `undefined` means the default: it stands. */
  async askOnError({ error, phase, attempt = 1, toolCall }: Failure, unit: Unit): Promise<Decision | undefined> {
    this.#wasAsked(error)
    if (this.scopeOf(unit).error) return undefined
    try {
      const fields = { error, phase, attempt, toolCall, toolName: toolCall?.toolName }
      // A layer that failed at on_event is asked about here, so its failure cannot be what ends this.
      const pass = await this.through('on_error', unit, fields, { exit: true })
      const { error: ended } = this.scopeOf(unit)
      if (ended) throw ended
      const decision = pass?.decision
      if (decision?.kind !== 'raise') return decision
      const raised = toError(decision.error, 'an on_error layer')
      this.#wasAsked(raised)
      return { kind: 'raise', error: raised }
    } catch (failure) {
      // An on_error layer's own failure is not asked about.
      if (failure instanceof Error) this.#wasAsked(failure)
      throw failure
    }
  }

  #wasAsked(error: Error): void {
    this.#asked = (this.#asked ?? new WeakSet()).add(error)
  }

  /** What a failure that ends the run comes to, after on_error has been asked about it. Never throws. */
  async raised(thrown: unknown, phase: 'hook' | 'session'): Promise<unknown> {
    if (this.cancellation.error) return this.cancellation.error
    const error = toError(thrown, 'the run')
    if (this.#asked?.has(error)) return error
    try {
      const decision = await this.askOnError({ error, phase }, this.unit)
      return decision?.kind === 'raise' ? decision.error : error
    } catch (failure) {
      return failure
    }
  }

  /** Writes are never abandoned: a cancelled run waits for them too. */
  append(messages: readonly Message[]): void | Promise<void> {
    if (messages.length === 0) return
    for (const message of messages) deepFreeze(message)
    let storing: void | Promise<void>
    try {
      storing = this.handle.append(messages)
    } catch (error) {
      storing = Promise.reject(error)
    }
    if (storing) return this.#stored(storing, messages)
    this.added.push(...messages)
  }

  async #stored(storing: Promise<void>, messages: readonly Message[]): Promise<void> {
    try {
      await storing
    } catch (error) {
      throw await this.raised(error, 'session')
    }
    this.added.push(...messages)
  }

  addUsage(usage: Usage): void {
    this.usage = addUsage(this.usage, usage)
  }

  result(status: RunStatus, reason?: string): RunResult {
    const text = status === 'denied' ? (reason ?? '') : this.text
    const { runId, usage, turns } = this
    const messages = Object.freeze(this.added.slice())
    const { undelivered } = this.controller
    const result: Open<RunResult> = { runId, status, text, messages, usage, turns }
    if (reason !== undefined) result.reason = reason
    if (undelivered) result.undelivered = undelivered
    return Object.freeze(result)
  }

  /** The result of a run that is over: from now on nobody steers it. */
  end(status: RunStatus, reason?: string): RunResult {
    this.controller.closeSteering()
    return this.result(status, reason)
  }

  #whenContext(unit: Unit): WhenContext<never> {
    const { agent, handle, runId, input, metadata, path, state } = this
    const { turn, toolName } = unit
    return {
      agent,
      session: handle.view,
      runId,
      turn,
      input,
      metadata: metadata as never,
      path,
      get: (key) => state.get(key),
      ...(toolName === undefined ? {} : { toolName }),
    }
  }

  callModel(request: HelperRequest, pass: Pass, layer: Layer): Promise<LLMStep> {
    const asker = `${pass.unit.op}:${layer.name}`
    const n = this.#helpers?.get(asker) ?? 0
    this.#helpers = (this.#helpers ?? new Map<string, number>()).set(asker, n + 1)
    return helperStep(this, request, pass, layer, n)
  }

  /** The request of a step before any layer has seen it. */
  request(unit: Unit): StepRequest {
    const { model, instructions } = this
    const { messages } = this.session
    const tools = this.#toolsOffered(this.tools, unit)
    return instructions === undefined ? { model, messages, tools } : { model, system: instructions, messages, tools }
  }

  /** The agent's tools and those that active middlewares bring along. */
  #toolsOffered(tools: readonly Tool[], unit: Unit): readonly Tool[] {
    const bringing = this.chains.bringingTools
    if (bringing.length === 0) return tools
    const active = bringing.filter((layer) => this.isActive(layer, unit))
    return [...tools, ...active.flatMap((layer) => layer.middleware.tools ?? [])]
  }

  /** Do the conditions of `when` hold for this layer here? */
  isActive({ conditions }: Layer, unit: Unit): boolean {
    return conditions.every((condition) => unit.holds(condition, () => this.#whenContext(unit)))
  }
}

function sourceOf(pass: Pass, layer?: Layer): Source {
  return { layer, inEventPass: pass.name === 'on_event' }
}

function callOf({ callId, toolName }: Unit): { readonly callId?: string; readonly toolName?: string } {
  return callId === undefined ? {} : { callId, toolName: toolName ?? '' }
}

/** An error as events tell it. */
export function factsOf(error: unknown): ErrorFacts {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  return { name: error instanceof Error ? error.name : 'Error', message: messageOf(error), ...code, ...originOf(error) }
}
