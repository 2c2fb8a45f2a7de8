import type { Layer, Unit } from '../chain/layer.ts'
import { freezeRequest, Pass } from '../chain/pass.ts'
import type { Refiner } from '../chain/pass.ts'
import type { Retry } from '../decision.ts'
import { toError } from '../errors.ts'
import { deepFreeze, freezeList } from '../freeze.ts'
import type { Point, StepRequest } from '../hooks.ts'
import { callsOf } from '../message.ts'
import type { AssistantMessage, UserMessage } from '../message.ts'
import { noUsage } from '../model.ts'
import type { LLMStep, ModelOptions, ModelPart } from '../model.ts'
import type { ActiveRun } from '../run/active-run.ts'
import { maxAttempts, pause } from '../run/attempts.ts'
import { WorkSignal } from '../signal.ts'
import { Assembler, distinct } from './assemble.ts'
import { authorOf, modelFailure } from './author.ts'
import type { Author } from './author.ts'
import { Output } from './output.ts'
import { read } from './read.ts'
import { outgoing, partsOf } from './send.ts'
import { transformed } from './transforms.ts'

/** What an LLM step came to: an answer, or a layer's refusal to ask. */
export type StepOutcome = { readonly step: LLMStep; readonly request: StepRequest } | { readonly denied: string }

/** One LLM step: everything from before_llm_step to the answer that after_llm_step accepted. Stores nothing. */
export class Step implements Refiner {
  readonly #run: ActiveRun
  readonly #unit: Unit
  readonly #excluded: ReadonlySet<Layer> | undefined
  readonly #output: Output
  #request: StepRequest
  /** The layer of before_llm_step that last changed the request. */
  #writer: Layer | undefined
  #supplied: LLMStep | undefined
  /** The answer that is being read, or was the last to be. */
  #assembler: Assembler | undefined
  #author: Author = {}
  /** What the model was sent last. */
  #sent: StepRequest | undefined
  /** What the layers of around_llm_step made of an answer that was read to its end. */
  #answer: LLMStep | undefined

  /** @param excluded set when a middleware asks for itself: nothing goes into the stream then */
  constructor(run: ActiveRun, unit: Unit, request: StepRequest, excluded?: ReadonlySet<Layer>) {
    this.#run = run
    this.#unit = unit
    this.#request = freezeRequest(request)
    this.#excluded = excluded
    this.#output = new Output(run, unit, !excluded)
  }

  /**
   * What is kept of a step that was interrupted, as after_llm_step passed it: it may be nothing.
   *
   * @throws the error where the step ended by that
   */
  async salvage(error: unknown): Promise<LLMStep> {
    const run = this.#run
    const unit = this.#unit
    const isInterrupted = unit.scope?.error !== undefined && !run.ending
    run.closeScope(unit)
    if (!isInterrupted) throw error
    const kept = this.#answer ?? this.#assembler?.whole ?? this.#unfinished()
    // Nobody is to see what after_llm_step may refuse.
    this.#assembler = undefined
    if (kept.message.content.length === 0) return kept
    const after = await this.#through('after_llm_step', { request: this.#sent ?? this.#request, step: kept })
    if (after?.decision?.kind === 'stop') run.stopping ??= after.decision.reason
    const step = after ? this.#whole(after.fields.step as LLMStep) : kept
    await this.#output.accept(step.message, kept.message.content)
    return step
  }

  #unfinished(): LLMStep {
    const message: AssistantMessage = this.#assembler?.partial(this.#author) ?? { role: 'assistant', content: [] }
    const { usage = noUsage } = this.#assembler ?? {}
    return deepFreeze({ message, toolCalls: callsOf(message), finishReason: 'other', rawFinishReason: 'interrupted', usage })
  }

  /** What there is of an answer whose reading broke off. A whole one that after_llm_step has not passed is nobody's to see. */
  get partial(): AssistantMessage | undefined {
    return this.#assembler?.whole ? undefined : this.#assembler?.partial(this.#author)
  }

  get attempt(): number {
    return this.#output.attempt
  }

  take(): Promise<StepOutcome> {
    return this.#run.chains.at.before_llm_step ? this.#prepare() : this.#attempt()
  }

  get #purpose(): 'helper' | 'step' {
    return this.#excluded ? 'helper' : 'step'
  }

  #through(point: Point, more: object): Pass | Promise<Pass> | undefined {
    const run = this.#run
    if (!run.chains.at[point]) return undefined
    const fields = { request: this.#request, attempt: this.attempt, purpose: this.#purpose, ...more }
    return run.through(point, this.#unit, fields, { excluded: this.#excluded })
  }

  async #prepare(): Promise<StepOutcome> {
    const asking = this.#through('before_llm_step', { session: this.#run.handle.session })
    const pass = asking instanceof Promise ? await asking : asking
    const decision = pass?.decision
    if (decision?.kind === 'deny') return { denied: decision.reason }
    if (decision?.kind === 'replace_result') this.#supplied = stepOf(decision.result as LLMStep | string)
    this.#writer = pass?.writer
    if (pass) this.#request = this.#withContext(pass.fields.request as StepRequest, pass.context)
    return this.#attempt()
  }

  /** What the layers made of the request; the session's messages, if a layer changed those and not the request's; and their notes, at the end. */
  #withContext(request: StepRequest, context: string): StepRequest {
    let { messages } = request
    if (!this.#excluded && messages === this.#request.messages) messages = this.#run.session.messages
    if (context) {
      const note: UserMessage = deepFreeze({ role: 'user', content: [{ type: 'text', text: context, added: true }] })
      messages = freezeList([...deepFreeze(messages), note])
    }
    return messages === request.messages ? request : freezeRequest({ ...request, messages })
  }

  /** One pass through around_llm_step and after_llm_step, and another where one of them or on_error asks for it. */
  async #attempt(): Promise<StepOutcome> {
    const run = this.#run
    const chain = run.chains.at.around_llm_step
    const pass = chain && this.#passAround()
    let step: LLMStep
    try {
      step = this.#whole(pass ? ((await pass.enter(chain)) as LLMStep) : await this.#work())
    } catch (thrown) {
      run.check(this.#unit)
      const own = pass !== undefined && pass.workError?.error !== thrown
      return this.#again(await this.#afterFailure(toError(thrown, 'an LLM step'), own))
    }
    // A layer that swallows an interruption has nothing to say in its place.
    if (this.#assembler?.whole) this.#answer = step
    run.check(this.#unit)
    if (!this.#excluded) this.#unit.scope = undefined
    const request = pass ? (pass.fields.request as StepRequest) : this.#request
    const passing = this.#through('after_llm_step', { request, step })
    if (passing) {
      const after = passing instanceof Promise ? await passing : passing
      step = this.#whole(after.fields.step as LLMStep)
      const { decision } = after
      if (decision?.kind === 'stop') {
        if (this.#excluded) return { denied: decision.reason }
        run.stopping ??= decision.reason
      }
      if (decision?.kind === 'retry' && this.attempt < maxAttempts && !this.#unit.isInterrupted) return this.#again(decision)
    }
    if (step !== this.#assembler?.whole) await this.#output.accept(step.message, this.#assembler?.content ?? [])
    return { step, request }
  }

  #passAround(): Pass {
    const fields = { request: this.#request, attempt: this.attempt, purpose: this.#purpose, signal: undefined }
    const pass: Pass = new Pass(this.#run, 'around_llm_step', this.#unit, fields, () => this.#work(pass), this.#excluded)
    pass.refiner = this
    return pass
  }

  /**
   * @param own is it a layer's failure, and not the model's?
   * @returns the retry that on_error decided on; a fallback is one too. Throws the failure otherwise.
   */
  async #afterFailure(error: Error, own: boolean): Promise<Retry> {
    const { attempt } = this
    const decision = await this.#run.askOnError({ error, phase: own ? 'hook' : 'llm_step', attempt }, this.#unit)
    if (decision?.kind === 'raise') throw decision.error
    if (own || !decision || attempt >= maxAttempts) throw error
    if (decision.kind !== 'replace_result') return { reason: error.message, ...(decision as Retry) }
    this.#supplied = stepOf(decision.result as LLMStep | string)
    return { kind: 'retry', reason: `${error.message}; a layer answers instead` }
  }

  /** Innermost: the model, or what a layer supplied in its place. */
  async #work(pass?: Pass): Promise<LLMStep> {
    if (this.#supplied) return this.#retell(this.#supplied, pass)
    const run = this.#run
    run.check(this.#unit)
    const request = pass ? (pass.fields.request as StepRequest) : this.#request
    this.#sent = request
    const { model } = request
    const writer = pass?.writer ?? this.#writer
    const { request: sent, fromProvider } = outgoing(
      request,
      writer ? `middleware '${writer.name}'` : 'the run',
      this.#excluded ? undefined : run.history,
    )
    const own = pass?.fields.signal as AbortSignal | undefined
    own?.throwIfAborted()
    const author = authorOf(model)
    const assembler = this.#assemble(fromProvider)
    const work = new WorkSignal(run.scopeOf(this.#unit), own)
    try {
      return await this.#read(model.stream(sent, new CallOptions(work)), pass, work, assembler, author)
    } catch (error) {
      throw run.scopeOf(this.#unit).error ?? (pass?.transformError?.error === error ? error : modelFailure(error, author))
    } finally {
      work.dispose()
      run.addUsage(assembler.usage)
    }
  }

  /** A layer answered in the place of what stands inside it: the transforms further out apply to its answer too. */
  async refine(value: unknown, pass: Pass, { index }: Layer): Promise<LLMStep> {
    const step = value as LLMStep
    return pass.transforms.some(({ layer }) => layer.index < index) ? this.#retell(step, pass, index) : this.#whole(step)
  }

  /** A step that a layer supplies goes the way of a model's: through the transforms, as deltas. */
  #retell(supplied: LLMStep, pass?: Pass, outside?: number): Promise<LLMStep> {
    const step = this.#whole(supplied)
    const work = new WorkSignal(this.#run.scopeOf(this.#unit))
    const assembler = this.#assemble((name) => name)
    return this.#read(partsOf(step), pass, work, assembler, step.message, outside)
  }

  #assemble(toolName: (name: string) => string): Assembler {
    return new Assembler({ toolName, taken: this.#run.callIds, prefix: `call_${this.#unit.turn}_` })
  }

  #read(
    source: AsyncIterable<ModelPart>,
    pass: Pass | undefined,
    work: WorkSignal,
    assembler: Assembler,
    author: Author,
    outside?: number,
  ): Promise<LLMStep> {
    this.#assembler = assembler
    this.#author = author
    const begin = (): Promise<LLMStep> => {
      const parts = pass ? transformed(source, pass, work, outside) : source
      return read(parts, assembler, this.#output, work, author)
    }
    const telling = this.#output.reset('the answer begins again')
    return telling ? telling.then(begin) : begin()
  }

  /** A layer's step as core needs it: calls read from its message, their ids unlike all others of the session. */
  #whole(step: LLMStep): LLMStep {
    if (step === this.#assembler?.whole) return step
    const unique = distinct(this.#run.callIds)
    const content = step.message.content.map((part) => {
      const callId = part.type === 'tool_call' && unique(part.callId)
      return callId && callId !== part.callId ? { ...part, callId } : part
    })
    const message = { ...step.message, content }
    const toolCalls = callsOf(message)
    const { finishReason = 'stop', usage = noUsage, toolCalls: told } = step as Partial<LLMStep>
    const isWhole = told?.length === toolCalls.length && toolCalls.every((call, i) => call === told[i])
    if (isWhole && step.finishReason && step.usage) return step
    return deepFreeze({ ...step, finishReason, usage, message, toolCalls })
  }

  async #again({ delayMs = 0, reason = 'a layer asked for it', request }: Retry): Promise<StepOutcome> {
    if (request) this.#request = freezeRequest({ ...this.#request, ...request })
    this.#assembler = this.#answer = undefined
    if (!this.#excluded) this.#run.beginStep(this.#unit)
    await this.#output.retry(delayMs, reason)
    await pause(this.#run, delayMs, this.#unit)
    return this.#attempt()
  }
}

/** The signal is made when the model asks for it. */
class CallOptions implements ModelOptions {
  readonly #work: WorkSignal

  constructor(work: WorkSignal) {
    this.#work = work
  }

  get signal(): AbortSignal {
    return this.#work.signal
  }
}

/** What a layer may supply as a step: a whole one, or the text of an answer. */
function stepOf(value: LLMStep | string): LLMStep {
  if (typeof value !== 'string') return value
  const message: AssistantMessage = { role: 'assistant', content: [{ type: 'text', text: value }] }
  // The rest follows from it when it is made whole.
  return { message } as LLMStep
}
