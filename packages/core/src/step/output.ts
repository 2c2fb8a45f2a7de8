import type { Unit } from '../chain/layer.ts'
import type { EventFields, StepFields } from '../event/event.ts'
import { textOf } from '../message.ts'
import type { AssistantMessage, AssistantPart, ToolCallPart } from '../message.ts'
import type { ActiveRun } from '../run/active-run.ts'

/** What consumers have heard of a step so far, and how it is taken back. */
export class Output {
  readonly #run: ActiveRun
  readonly #unit: Unit
  /** Is there anybody to tell? Nobody hears of a middleware's own model call. */
  readonly #audible: boolean
  attempt = 1
  #out = false

  constructor(run: ActiveRun, unit: Unit, audible: boolean) {
    this.#run = run
    this.#unit = unit
    this.#audible = audible && run.heard
  }

  get #which(): StepFields {
    return { stepId: this.#unit.op, attempt: this.attempt }
  }

  text(text: string): void | Promise<void> {
    this.#out = true
    if (this.#audible) return this.#run.emitText(text, this.attempt, this.#unit)
  }

  reasoning(text: string, blockId: string | undefined): void | Promise<void> {
    this.#out = true
    return this.#tell('reasoning_delta', { text, ...(blockId !== undefined && { blockId }), ...this.#which })
  }

  /** A piece of a call's arguments. A sanitizer needs whole strings: then they follow with the call. */
  args(callId: string, toolName: string, delta: string): void | Promise<void> {
    if (!this.#run.sanitizer) return this.#args(callId, toolName, delta)
  }

  call({ callId, toolName, args, rawArgs }: ToolCallPart): void | Promise<void> {
    const { sanitizer } = this.#run
    if (sanitizer) return this.#args(callId, toolName, rawArgs ?? JSON.stringify(sanitizer.value(args)))
  }

  #args(callId: string, toolName: string, delta: string): void | Promise<void> {
    this.#out = true
    return this.#tell('tool_args_delta', { callId, toolName, delta, ...this.#which })
  }

  /** What was given out is void. */
  reset(reason: string): void | Promise<void> {
    if (!this.#out) return
    this.#out = false
    return this.#tell('step_reset', { reason, ...this.#which })
  }

  async retry(delayMs: number, reason: string): Promise<void> {
    await this.reset(reason)
    this.attempt++
    await this.#tell('retry', { delayMs, reason, ...this.#which })
  }

  /**
   * The step is final. Where a layer changed it after its deltas had gone out, it is told anew.
   *
   * @param read what was read, and given out
   */
  async accept(message: AssistantMessage, read: readonly AssistantPart[]): Promise<void> {
    const text = textOf(message)
    if (text === textOf({ content: read }) && reasoningOf(message.content) === reasoningOf(read)) return
    await this.reset('a layer rewrote the answer')
    if (text) await this.text(text)
  }

  #tell<T extends 'reasoning_delta' | 'tool_args_delta' | 'step_reset' | 'retry'>(
    type: T,
    fields: EventFields[T],
  ): void | Promise<void> {
    if (this.#audible) return this.#run.emit(type, fields, this.#unit)
  }
}

function reasoningOf(content: readonly AssistantPart[]): string {
  let reasoning = ''
  for (const part of content) if (part.type === 'reasoning') reasoning += part.text
  return reasoning
}
