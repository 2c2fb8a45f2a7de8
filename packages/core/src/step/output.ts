import type { Unit } from '../chain/layer.ts'
import type { StepFields } from '../event/event.ts'
import { textOf } from '../message.ts'
import type { LLMStep } from '../model.ts'
import type { ActiveRun } from '../run/active-run.ts'
import type { Deltas } from './read.ts'

/** What consumers have heard of a step so far, and how it is taken back. */
export class Output {
  attempt = 1
  readonly #run: ActiveRun
  readonly #unit: Unit
  /** A middleware's own model call tells nobody. */
  readonly #audible: boolean
  #text = ''
  #reasoning = ''
  #out = false

  constructor(run: ActiveRun, unit: Unit, audible: boolean) {
    this.#run = run
    this.#unit = unit
    this.#audible = audible
  }

  get #fields(): StepFields {
    return { stepId: this.#unit.op, attempt: this.attempt }
  }

  deltas(toolName: (name: string) => string): Deltas {
    const run = this.#run
    const unit = this.#unit
    if (!this.#audible) return { text: () => {}, reasoning: () => {}, args: () => {}, call: () => {} }
    const fields = this.#fields
    return {
      text: (text) => {
        this.#out = true
        this.#text += text
        return run.emit('text_delta', { ...fields, text }, unit)
      },
      reasoning: (text, blockId) => {
        this.#out = true
        this.#reasoning += text
        return run.emit('reasoning_delta', { ...fields, text, ...(blockId === undefined ? {} : { blockId }) }, unit)
      },
      args: (callId, name, delta) => {
        // A sanitizer needs whole strings: then the arguments follow in one piece.
        if (run.sanitizer) return undefined
        this.#out = true
        return run.emit('tool_args_delta', { ...fields, callId, toolName: toolName(name), delta }, unit)
      },
      call: ({ callId, toolName: name, args, rawArgs }) => {
        if (!run.sanitizer) return undefined
        this.#out = true
        const delta = rawArgs ?? JSON.stringify(run.sanitizer.value(args))
        return run.emit('tool_args_delta', { ...fields, callId, toolName: name, delta }, unit)
      },
    }
  }

  /** Parts are about to be read. What an earlier reading gave out is void. */
  async begin(): Promise<void> {
    if (this.#out) await this.#reset('the answer begins again')
  }

  async #reset(reason: string): Promise<void> {
    this.#out = false
    this.#text = ''
    this.#reasoning = ''
    if (this.#audible) await this.#run.emit('step_reset', { ...this.#fields, reason }, this.#unit)
  }

  async retry(delayMs: number, reason: string): Promise<void> {
    if (this.#out) await this.#reset(reason)
    this.attempt++
    if (this.#audible) await this.#run.emit('retry', { ...this.#fields, delayMs, reason }, this.#unit)
  }

  /** The step is final. Where a layer changed it after its deltas had gone out, it is told anew. */
  async accept({ message }: LLMStep): Promise<void> {
    if (!this.#audible) return
    const text = textOf(message)
    const reasoning = message.content.reduce((all, part) => (part.type === 'reasoning' ? all + part.text : all), '')
    if (text === this.#text && reasoning === this.#reasoning) return
    if (this.#out) await this.#reset('a layer rewrote the answer')
    if (text !== '') await this.#run.emit('text_delta', { ...this.#fields, text }, this.#unit)
  }
}
