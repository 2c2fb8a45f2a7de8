import { enter } from '../chain/compile.ts'
import type { Layer, Unit } from '../chain/layer.ts'
import { freezeRequest, Pass } from '../chain/pass.ts'
import type { Retry } from '../decision.ts'
import { toError } from '../errors.ts'
import type { StepRequest } from '../hooks.ts'
import { callsOf } from '../message.ts'
import type { AssistantMessage, UserMessage } from '../message.ts'
import { noUsage } from '../model.ts'
import type { LLMStep, Model, ModelPart } from '../model.ts'
import type { ActiveRun } from '../run/active-run.ts'
import { WorkSignal } from '../signal.ts'
import { uniqueCallId } from '../session/repair.ts'
import { deepFreeze, freezeList, isDeepFrozen } from '../freeze.ts'
import { Assembler } from './assemble.ts'
import { Output } from './output.ts'
import { modelFailure, read } from './read.ts'
import { outgoing, partsOf } from './send.ts'
import { transformed } from './transforms.ts'

/** How often a step is tried, retries and fallbacks together. */
export const maxAttempts = 10

/** What an LLM step came to: an answer, or a layer's refusal to ask. */
export type StepOutcome =
  | { readonly step: LLMStep; readonly request: StepRequest }
  | { readonly denied: string; readonly by: string | undefined }

interface Reading {
  readonly model: Model
  readonly toolName: (name: string) => string
  readonly work: WorkSignal
  readonly assembler: Assembler
  readonly author: { readonly provider?: string; readonly model?: string }
}

/** One LLM step: everything from before_llm_step to the answer that after_llm_step accepted. Stores nothing. */
export class Step {
  readonly #run: ActiveRun
  readonly #unit: Unit
  readonly #purpose: 'step' | 'helper'
  readonly #excluded: ReadonlySet<Layer> | undefined
  readonly #output: Output
  #request: StepRequest
  #author = 'the run'
  #supplied: LLMStep | undefined
  /** An answer that is being read. */
  #reading: Reading | undefined
  /** What a layer of this pass failed with, to tell it from the model's failure. */
  #layerFailed: unknown

  /** @param excluded set when a middleware asks for itself: nothing goes into the stream then */
  constructor(run: ActiveRun, unit: Unit, request: StepRequest, excluded?: ReadonlySet<Layer>) {
    this.#run = run
    this.#unit = unit
    this.#request = freezeRequest(request)
    this.#excluded = excluded
    this.#purpose = excluded ? 'helper' : 'step'
    this.#output = new Output(run, unit, !excluded)
  }

  /** What there is of an answer whose reading broke off. A whole one that after_llm_step has not passed is nobody's to see. */
  get partial(): AssistantMessage | undefined {
    return this.#reading?.assembler.partial(this.#reading.author)
  }

  get attempt(): number {
    return this.#output.attempt
  }

  async take(): Promise<StepOutcome> {
    const denied = await this.#prepare()
    if (denied) return denied
    for (;;) {
      const next = await this.#attempt()
      if (!('retry' in next)) return next
      await this.#again(next.retry)
    }
  }

  async #prepare(): Promise<StepOutcome | undefined> {
    const run = this.#run
    const fields = { request: this.#request, purpose: this.#purpose, session: run.handle.session }
    const pass = await run.through('before_llm_step', this.#unit, fields, { excluded: this.#excluded })
    if (!pass) return undefined
    if (pass.decision?.kind === 'deny') return { denied: pass.decision.reason, by: pass.by?.name }
    this.#author = authorName(pass)
    this.#request = this.#withContext(this.#request, pass.fields.request as StepRequest, pass.context)
    if (pass.decision?.kind === 'replace_result') this.#supplied = stepOf(pass.decision.result as LLMStep | string)
    return undefined
  }

  /** What the layers made of the request; the session's messages, if a layer changed those and not the request's; and their notes, at the end. */
  #withContext(before: StepRequest, request: StepRequest, context: string): StepRequest {
    const untouched = !this.#excluded && request.messages === before.messages
    const messages = untouched ? this.#run.session.messages : request.messages
    if (!context) return messages === request.messages ? request : freezeRequest({ ...request, messages })
    const note: UserMessage = deepFreeze({ role: 'user', content: [{ type: 'text', text: context, added: true }] })
    return freezeRequest({ ...request, messages: isDeepFrozen(messages) ? freezeList([...messages, note]) : [...messages, note] })
  }

  /** One pass through around_llm_step and after_llm_step. */
  async #attempt(): Promise<StepOutcome | { readonly retry: Retry }> {
    const run = this.#run
    const attempt = this.#output.attempt
    let answer: { step: LLMStep; request: StepRequest }
    try {
      answer = await this.#ask()
    } catch (thrown) {
      run.check()
      return { retry: await this.#afterFailure(toError(thrown, 'an LLM step')) }
    }
    run.check()
    const { request } = answer
    const pass = await run.through(
      'after_llm_step',
      this.#unit,
      { step: answer.step, request, attempt, purpose: this.#purpose },
      { excluded: this.#excluded },
    )
    const step = this.#whole((pass?.fields.step ?? answer.step) as LLMStep)
    const decision = pass?.decision
    if (decision?.kind === 'stop') {
      if (this.#excluded) return { denied: decision.reason, by: pass?.by?.name }
      run.stopping ??= decision.reason
    }
    if (decision?.kind === 'retry' && attempt < maxAttempts) return { retry: decision }
    await this.#output.accept(step)
    return { step, request }
  }

  /** @returns the retry that on_error decided on; a fallback is one too. Throws the failure otherwise. */
  async #afterFailure(error: Error): Promise<Retry> {
    const run = this.#run
    const attempt = this.#output.attempt
    const own = this.#layerFailed === error
    const decision = await run.askOnError({ error, phase: own ? 'hook' : 'llm_step', attempt }, this.#unit)
    if (decision?.kind === 'raise') throw decision.error
    if (own || !decision || attempt >= maxAttempts) throw error
    if (decision.kind === 'replace_result') {
      this.#supplied = stepOf(decision.result as LLMStep | string)
      return { kind: 'retry', reason: `${error.message}; a layer answers instead` }
    }
    return decision.kind === 'retry' ? { reason: error.message, ...decision } : { kind: 'retry' }
  }

  async #ask(): Promise<{ step: LLMStep; request: StepRequest }> {
    const run = this.#run
    const chain = run.chains.at('around_llm_step')
    const fields = { request: this.#request, signal: undefined, attempt: this.#output.attempt, purpose: this.#purpose }
    const pass: Pass = new Pass(run, 'around_llm_step', this.#unit, fields, () => this.#work(pass), this.#excluded)
    pass.refine = (value, layer) => this.#refine(value as LLMStep, pass, layer)
    this.#layerFailed = undefined
    if (!chain) return { step: await this.#work(pass), request: this.#request }
    try {
      const step = (await enter(chain, pass)) as LLMStep
      return { step: this.#whole(step), request: pass.fields.request as StepRequest }
    } catch (error) {
      if (pass.workError?.error !== error) this.#layerFailed = error
      throw error
    }
  }

  /** Innermost: the model, or what a layer supplied in its place. */
  async #work(pass: Pass): Promise<LLMStep> {
    const run = this.#run
    const request = pass.fields.request as StepRequest
    const { model } = request
    if (this.#supplied) return this.#retell(this.#supplied, pass)
    run.check()
    const { request: sent, fromProvider } = outgoing(request, pass.writer ? authorName(pass) : this.#author)
    const assembler = this.#assembler(fromProvider)
    const own = pass.fields.signal as AbortSignal | undefined
    own?.throwIfAborted()
    const work = new WorkSignal(run.cancellation, own)
    try {
      const options = {
        get signal() {
          return work.signal
        },
      }
      return await this.#read(model.stream(sent, options), pass, {
        model,
        toolName: fromProvider,
        work,
        assembler,
        author: authorOf(model),
      })
    } catch (error) {
      throw run.cancellation.error ?? (pass.transformError?.error === error ? error : modelFailure(error, model))
    } finally {
      work.dispose()
      run.addUsage(assembler.usage)
    }
  }

  #assembler(toolName: (name: string) => string): Assembler {
    return new Assembler({ toolName, taken: this.#run.callIds, prefix: `call_${this.#unit.turn}_` })
  }

  async #read(source: AsyncIterable<ModelPart>, pass: Pass, reading: Reading, outside?: number): Promise<LLMStep> {
    const { assembler, toolName, work, model, author } = reading
    this.#reading = reading
    await this.#output.begin()
    await read(transformed(source, pass, work, outside), assembler, this.#output.deltas(toolName), work, model)
    const step = assembler.step(author)
    this.#reading = undefined
    return step
  }

  /** A step that a layer supplies goes the way of a model's: through the transforms, as deltas. */
  #retell(supplied: LLMStep, pass: Pass, outside?: number): Promise<LLMStep> {
    const step = this.#whole(supplied)
    const toolName = (name: string): string => name
    const { model } = pass.fields.request as StepRequest
    const work = new WorkSignal(this.#run.cancellation)
    return this.#read(
      partsOf(step),
      pass,
      { model, toolName, work, assembler: this.#assembler(toolName), author: step.message },
      outside,
    )
  }

  /** A layer answered in the place of what stands inside it: the transforms further out apply to its answer too. */
  async #refine(value: LLMStep, pass: Pass, layer: Layer): Promise<LLMStep> {
    const isAffected = pass.transforms.some((transform) => transform.layer.index < layer.index)
    return isAffected ? this.#retell(value, pass, layer.index) : this.#whole(value)
  }

  /** A layer's step as core needs it: calls read from its message, their ids unlike all others of the session. */
  #whole(step: LLMStep): LLMStep {
    const calls = callsOf(step.message)
    const taken = new Set<string>()
    const isFine = calls.every((call, i) => {
      const isNew = call.callId !== '' && !taken.has(call.callId) && !this.#run.callIds.has(call.callId)
      taken.add(call.callId)
      return isNew && call === step.toolCalls?.[i]
    })
    if (isFine && step.toolCalls?.length === calls.length && step.usage && step.finishReason) return step
    const { finishReason = 'stop', usage = noUsage } = step as Partial<LLMStep>
    return deepFreeze({ ...step, finishReason, usage, ...uniqueIds(step.message, this.#run.callIds) })
  }

  async #again({ delayMs = 0, reason = 'a layer asked for it', request }: Retry): Promise<void> {
    const run = this.#run
    if (request) this.#request = freezeRequest({ ...this.#request, ...request })
    this.#reading = undefined
    await this.#output.retry(delayMs, reason)
    if (delayMs > 0) await run.cancellation.wait(run.runtime.sleep(delayMs))
    run.check()
  }
}

function authorOf({ provider, id }: Model): { readonly provider: string; readonly model: string } {
  return { provider, model: id }
}

function authorName({ writer }: Pass): string {
  return writer ? `middleware '${writer.name}'` : 'the run'
}

function uniqueIds(message: AssistantMessage, taken: ReadonlySet<string>): Pick<LLMStep, 'message' | 'toolCalls'> {
  const used = new Set(taken)
  const content = message.content.map((part) => {
    if (part.type !== 'tool_call') return part
    const callId = uniqueCallId(part.callId, used)
    used.add(callId)
    return callId === part.callId ? part : { ...part, callId }
  })
  const whole = { ...message, content }
  return { message: whole, toolCalls: callsOf(whole) }
}

/** What a layer may supply as a step: a whole one, or the text of an answer. */
function stepOf(value: LLMStep | string): LLMStep {
  if (typeof value !== 'string') return value
  return {
    message: { role: 'assistant', content: [{ type: 'text', text: value }] },
    toolCalls: [],
    finishReason: 'stop',
    usage: noUsage,
  }
}
