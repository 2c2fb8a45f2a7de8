import { copyJson, deepFreeze, freezeFields, freezeOuter } from '../freeze.ts'
import type { Open } from '../freeze.ts'
import { isObject } from '../json.ts'
import type { Json, JsonObject } from '../json.ts'
import { callsOf } from '../message.ts'
import type { AssistantMessage, AssistantPart, ReasoningPart, ToolCallPart } from '../message.ts'
import { noUsage } from '../model.ts'
import type { LLMStep, ModelPart, ModelToolCall, Usage } from '../model.ts'
import { uniqueCallId } from '../session/repair.ts'
import { mishap } from './author.ts'
import type { Author } from './author.ts'

/** What the ids and names of a provider become. */
export interface Naming {
  /** Our name for the tool. */
  readonly toolName: (providerName: string) => string
  /** The call ids of the session. */
  readonly taken: { has(callId: string): boolean }
  /** `call_<turn>_`: what a call without an id is named by, with its index. */
  readonly prefix: string
}

/** Makes call ids unique: unlike those that are taken, and unlike each other. */
export function distinct(taken: Naming['taken']): (callId: string) => string {
  let own: Set<string> | undefined
  const all = { has: (known: string) => taken.has(known) || own?.has(known) === true }
  return (callId) => {
    const id = uniqueCallId(callId, all)
    own = (own ?? new Set<string>()).add(id)
    return id
  }
}

/** Puts a message together from a model's parts, in their order. What it holds is whole at any moment, also when the stream breaks off. */
export class Assembler {
  readonly toolName: Naming['toolName']
  readonly #prefix: string
  readonly #unique: (callId: string) => string
  /** What there is so far. */
  readonly content: Open<AssistantPart>[] = []
  /** Calls that were announced by deltas and are not complete: the provider's id to ours. */
  #announced: Map<string, string> | undefined
  #calls = 0
  /** The text and the reasoning that ended last: nothing is added to them. */
  #endedText: AssistantPart | undefined
  #endedReasoning: AssistantPart | undefined
  #finish: Extract<ModelPart, { type: 'finish' }> | undefined
  usage: Usage = noUsage
  /** The step, once it is there. */
  whole: LLMStep | undefined

  constructor({ toolName, taken, prefix }: Naming) {
    this.toolName = toolName
    this.#prefix = prefix
    this.#unique = distinct(taken)
  }

  text(text: string): void {
    const last = this.content.at(-1)
    if (last?.type === 'text' && last !== this.#endedText) last.text += text
    else this.content.push({ type: 'text', text })
  }

  /** The end of a block of text, with what the provider wants back. */
  textEnd(providerData: Json | undefined): void {
    const last = this.content.at(-1)
    const open = last?.type === 'text' && last !== this.#endedText ? last : undefined
    if (providerData === undefined) this.#endedText = open ?? this.#endedText
    else if (open) this.#endedText = Object.assign(open, { providerData })
    else this.#endedText = this.content[this.content.push({ type: 'text', text: '', providerData }) - 1]
  }

  reasoning(text: string, blockId: string | undefined): void {
    const last = this.content.at(-1)
    if (
      last?.type === 'reasoning' &&
      last.blockId === blockId &&
      last.providerData === undefined &&
      last !== this.#endedReasoning
    )
      last.text += text
    else this.content.push({ type: 'reasoning', text, ...(blockId !== undefined && { blockId }) })
  }

  /** The end of a block of reasoning, with what the provider wants back. A block may have no text at all. */
  reasoningEnd(blockId: string | undefined, providerData: Json | undefined): void {
    const block = this.content.findLast(
      (part): part is Open<ReasoningPart> => part.type === 'reasoning' && (blockId ?? part.blockId) === part.blockId,
    )
    const open = block && block.providerData === undefined && block !== this.#endedReasoning ? block : undefined
    if (providerData === undefined) this.#endedReasoning = open ?? this.#endedReasoning
    else if (open) open.providerData = providerData
    else this.content.push({ type: 'reasoning', text: '', providerData, ...(blockId !== undefined && { blockId }) })
  }

  /** Our id of a call that is being streamed. */
  announce(providerId: string): string {
    const announced = (this.#announced ??= new Map<string, string>())
    let id = announced.get(providerId)
    if (id === undefined) {
      id = this.#id(providerId)
      announced.set(providerId, id)
    }
    return id
  }

  #id(providerId: string): string {
    const index = this.#calls++
    return this.#unique(providerId || `${this.#prefix}${index}`)
  }

  call({ callId: providerId, toolName, args, providerData }: ModelToolCall): ToolCallPart {
    const callId = this.#announced?.get(providerId) ?? this.#id(providerId)
    this.#announced?.delete(providerId)
    const { args: parsed, rawArgs } = parseArgs(args)
    const call: Open<ToolCallPart> = { type: 'tool_call', callId, toolName: this.toolName(toolName), args: parsed }
    if (rawArgs !== undefined) call.rawArgs = rawArgs
    if (providerData !== undefined) call.providerData = providerData
    this.content.push(call)
    return call
  }

  finish(part: Extract<ModelPart, { type: 'finish' }>): void {
    this.#finish = part
  }

  /**
   * The whole step.
   *
   * @throws ModelError, retryable, when the stream ended before its finish, left a call unfinished, ended with an error, or came to nothing for an abnormal reason
   */
  step(author: Author): LLMStep {
    if (!this.#finish) throw mishap(author, 'ended its answer without a finish', 'model_stream_cut')
    const { reason, rawReason, providerData } = this.#finish
    if (this.#announced && this.#announced.size > 0) {
      const [unfinished] = this.#announced.values()
      throw mishap(author, `never completed its call '${unfinished}'`, 'model_stream_cut')
    }
    const content = this.content.filter(hasContent)
    if (content.length === 0 && reason !== 'stop' && reason !== 'tool_calls')
      throw mishap(author, `gave an empty answer and ended with '${rawReason ?? reason}'`, 'model_empty')
    if (reason === 'error') throw mishap(author, `ended its answer with '${rawReason ?? reason}'`, 'model_error')
    for (const part of content) {
      // Flattens it: text that was put together piece by piece weighs many times itself while it is kept that way.
      if (part.type !== 'tool_call') part.text.charCodeAt(0)
      freezeFields(part)
    }
    const message = freezeOuter(messageBy(author, Object.freeze(content), deepFreeze(providerData)))
    const toolCalls = Object.freeze(callsOf(message))
    const step: Open<LLMStep> = { message, toolCalls, finishReason: reason, usage: deepFreeze(this.usage) }
    if (rawReason !== undefined) step.rawFinishReason = rawReason
    return (this.whole = Object.freeze(step))
  }

  /** What is kept of a step that ended early: complete parts; reasoning only with what the provider wants back. */
  partial(author: Author): AssistantMessage | undefined {
    const content = this.content.filter((part) => hasContent(part) && (part.type !== 'reasoning' || 'providerData' in part))
    return content.length > 0 ? deepFreeze(messageBy(author, content)) : undefined
  }
}

function messageBy({ provider, model }: Author, content: readonly AssistantPart[], providerData?: Json): AssistantMessage {
  const message: Open<AssistantMessage> = { role: 'assistant', content }
  if (provider !== undefined) message.provider = provider
  if (model !== undefined) message.model = model
  if (providerData !== undefined) message.providerData = providerData
  return message
}

function hasContent(part: AssistantPart): boolean {
  return part.type === 'tool_call' || part.text !== '' || 'providerData' in part
}

/** Absent or blank arguments are `{}`. What is no JSON object is kept as raw text, to be answered with an error. */
export function parseArgs(args: unknown): { readonly args: JsonObject; readonly rawArgs?: string } {
  if (isObject(args)) return { args: copyJson(args as JsonObject) as JsonObject }
  const rawArgs = typeof args === 'string' ? args : JSON.stringify(args ?? {})
  try {
    const parsed: unknown = JSON.parse(rawArgs)
    if (isObject(parsed)) return { args: parsed as JsonObject }
  } catch {
    // It is no JSON at all.
    if (!rawArgs.trim()) return { args: {} }
  }
  return { args: {}, rawArgs }
}
