import type { Unit } from '../chain/layer.ts'
import type { CallFields, EventFields, StepFields } from '../event/event.ts'
import { textOf } from '../message.ts'
import type { AssistantMessage, ToolCallPart } from '../message.ts'
import type { ActiveRun } from '../run/active-run.ts'

/** What consumers have heard of a step so far, and how it is taken back. */
export class Output {
  readonly #run: ActiveRun
  readonly #unit: Unit
  /** A middleware's own model call tells nobody. */
  readonly #audible: boolean
  #fields: StepFields
  #text = ''
  #reasoning = ''
  #out = false

  constructor(run: ActiveRun, unit: Unit, audible: boolean) {
    this.#run = run
    this.#unit = unit
    this.#audible = audible
    this.#fields = { stepId: unit.op, attempt: 1 }
  }

  get attempt(): number {
    return this.#fields.attempt
  }

  text(text: string): void | Promise<void> {
    this.#out = true
    this.#text += text
    return this.#tell('text_delta', { ...this.#fields, text })
  }

  reasoning(text: string, blockId: string | undefined): void | Promise<void> {
    this.#out = true
    this.#reasoning += text
    return this.#tell('reasoning_delta', { ...this.#fields, text, ...(blockId !== undefined && { blockId }) })
  }

  /** A piece of a call's arguments. A sanitizer needs whole strings: then they follow with the call. */
  args(callId: string, toolName: string, delta: string): void | Promise<void> {
    if (!this.#run.sanitizer) return this.#args({ callId, toolName, delta })
  }

  call({ callId, toolName, args, rawArgs }: ToolCallPart): void | Promise<void> {
    const { sanitizer } = this.#run
    if (sanitizer) return this.#args({ callId, toolName, delta: rawArgs ?? JSON.stringify(sanitizer.value(args)) })
  }

  #args(delta: CallFields & { readonly delta: string }): void | Promise<void> {
    this.#out = true
    return this.#tell('tool_args_delta', { ...this.#fields, ...delta })
  }

  /** What was given out is void. */
  async reset(reason: string): Promise<void> {
    if (!this.#out) return
    this.#out = false
    this.#text = ''
    this.#reasoning = ''
    await this.#tell('step_reset', { ...this.#fields, reason })
  }

  async retry(delayMs: number, reason: string): Promise<void> {
    await this.reset(reason)
    this.#fields = { ...this.#fields, attempt: this.attempt + 1 }
    await this.#tell('retry', { ...this.#fields, delayMs, reason })
  }

  /** The step is final. Where a layer changed it after its deltas had gone out, it is told anew. */
  async accept(message: AssistantMessage): Promise<void> {
    const text = textOf(message)
    const reasoning = message.content.reduce((all, part) => (part.type === 'reasoning' ? all + part.text : all), '')
    if (text === this.#text && reasoning === this.#reasoning) return
    await this.reset('a layer rewrote the answer')
    if (text) await this.text(text)
  }

  #tell<T extends 'text_delta' | 'reasoning_delta' | 'tool_args_delta' | 'step_reset' | 'retry'>(
    type: T,
    fields: EventFields[T],
  ): void | Promise<void> {
    if (this.#audible) return this.#run.emit(type, fields, this.#unit)
  }
}
