import { ModelError } from '../errors.ts'
import { copyJson, deepFreeze } from '../freeze.ts'
import type { Json, JsonObject } from '../json.ts'
import { callsOf } from '../message.ts'
import type { AssistantMessage, AssistantPart, ToolCallPart } from '../message.ts'
import { noUsage } from '../model.ts'
import type { FinishReason, LLMStep, ModelPart, ModelToolCall, Usage } from '../model.ts'
import { uniqueCallId } from '../session/repair.ts'

type Open<T> = { -readonly [K in keyof T]: T[K] }

/** What the ids and names of a provider become. */
export interface Naming {
  /** Our name for the tool. */
  toolName(providerName: string): string
  /** The call ids of the session. */
  readonly taken: { has(callId: string): boolean }
  /** `call_<turn>_`: what a call without an id is named by, with its index. */
  readonly prefix: string
}

/** Puts a message together from a model's parts, in their order. What it holds is whole at any moment, also when the stream breaks off. */
export class Assembler {
  readonly #naming: Naming
  readonly #content: Open<AssistantPart>[] = []
  readonly #ids = new Set<string>()
  /** Calls that were announced by deltas and are not complete: the provider's id to ours. */
  readonly #announced = new Map<string, string>()
  #calls = 0
  #finish: { reason: FinishReason; rawReason?: string; providerData?: Json } | undefined
  usage: Usage = noUsage

  constructor(naming: Naming) {
    this.#naming = naming
  }

  text(text: string): void {
    const last = this.#content.at(-1)
    if (last?.type === 'text') last.text += text
    else this.#content.push({ type: 'text', text })
  }

  reasoning(text: string, blockId: string | undefined): void {
    const last = this.#content.at(-1)
    if (last?.type === 'reasoning' && last.blockId === blockId && last.providerData === undefined) last.text += text
    else this.#content.push({ type: 'reasoning', text, ...(blockId === undefined ? {} : { blockId }) })
  }

  /** The end of a block of reasoning, with what the provider wants back. A block may have no text at all. */
  reasoningEnd(blockId: string | undefined, providerData: Json | undefined): void {
    const open = this.#content.findLast(
      (part) => part.type === 'reasoning' && (blockId === undefined || part.blockId === blockId),
    )
    const block = open?.type === 'reasoning' && open.providerData === undefined ? open : undefined
    if (providerData === undefined) return
    if (block) block.providerData = providerData
    else this.#content.push({ type: 'reasoning', text: '', providerData, ...(blockId === undefined ? {} : { blockId }) })
  }

  /** Our id of a call that is being streamed. */
  announce(providerId: string): string {
    const known = this.#announced.get(providerId)
    if (known !== undefined) return known
    const id = this.#newId(providerId)
    this.#announced.set(providerId, id)
    return id
  }

  #newId(providerId: string): string {
    const { taken, prefix } = this.#naming
    const id = uniqueCallId(providerId || `${prefix}${this.#calls}`, { has: (known) => taken.has(known) || this.#ids.has(known) })
    this.#ids.add(id)
    this.#calls++
    return id
  }

  call({ callId: providerId, toolName, args, providerData }: ModelToolCall): ToolCallPart {
    const callId = this.announce(providerId)
    this.#announced.delete(providerId)
    const call: ToolCallPart = {
      type: 'tool_call',
      callId,
      toolName: this.#naming.toolName(toolName),
      ...parseArgs(args),
      ...(providerData === undefined ? {} : { providerData }),
    }
    this.#content.push(call)
    return call
  }

  finish({ reason, rawReason, providerData }: Extract<ModelPart, { type: 'finish' }>): void {
    this.#finish = {
      reason,
      ...(rawReason === undefined ? {} : { rawReason }),
      ...(providerData === undefined ? {} : { providerData }),
    }
  }

  /**
   * The whole step.
   *
   * @throws ModelError, retryable, when the stream ended before its finish, left a call unfinished, or came to nothing for an abnormal reason
   */
  step(author: { readonly provider?: string | undefined; readonly model?: string | undefined }): LLMStep {
    const who = `model '${author.provider}/${author.model}'`
    const finish = this.#finish
    if (!finish)
      throw new ModelError(`${who}: its stream ended before it said why (no finish): the answer is cut off`, {
        code: 'model_stream_cut',
        retryable: true,
        provider: author.provider,
      })
    const [unfinished] = this.#announced.values()
    if (unfinished !== undefined)
      throw new ModelError(`${who} began call '${unfinished}' and never completed it`, {
        code: 'model_stream_cut',
        retryable: true,
        provider: author.provider,
      })
    if (this.#content.length === 0 && !['stop', 'tool_calls'].includes(finish.reason)) {
      throw new ModelError(`${who} gave an empty answer and ended with '${finish.rawReason ?? finish.reason}'`, {
        code: 'model_empty',
        retryable: true,
        provider: author.provider,
      })
    }
    const message = this.#message(this.#content.filter(worthKeeping), author, finish.providerData)
    return deepFreeze({
      message,
      toolCalls: callsOf(message),
      finishReason: finish.reason,
      ...(finish.rawReason === undefined ? {} : { rawFinishReason: finish.rawReason }),
      usage: this.usage,
    })
  }

  /** What is kept of a step that ended early: complete parts; reasoning only with what the provider wants back. */
  partial(author: { readonly provider?: string; readonly model?: string }): AssistantMessage | undefined {
    const content = this.#content.filter((part) =>
      part.type === 'reasoning' ? part.providerData !== undefined : worthKeeping(part),
    )
    return content.length > 0 ? deepFreeze(this.#message(content, author)) : undefined
  }

  #message(
    content: readonly AssistantPart[],
    { provider, model }: { readonly provider?: string | undefined; readonly model?: string | undefined },
    providerData?: Json,
  ): AssistantMessage {
    return {
      role: 'assistant',
      content,
      ...(provider === undefined ? {} : { provider }),
      ...(model === undefined ? {} : { model }),
      ...(providerData === undefined ? {} : { providerData }),
    }
  }
}

function worthKeeping(part: AssistantPart): boolean {
  if (part.type === 'text') return part.text !== ''
  return part.type !== 'reasoning' || part.text !== '' || part.providerData !== undefined
}

/** Absent or blank arguments are `{}`. What is no JSON object is kept as raw text, to be answered with an error. */
export function parseArgs(args: unknown): { readonly args: JsonObject; readonly rawArgs?: string } {
  if (isObject(args)) return { args: copyJson(args) as JsonObject }
  if (args === undefined || args === null || (typeof args === 'string' && args.trim() === '')) return { args: {} }
  const rawArgs = typeof args === 'string' ? args : JSON.stringify(args)
  try {
    const parsed: unknown = JSON.parse(rawArgs)
    return isObject(parsed) ? { args: parsed } : { args: {}, rawArgs }
  } catch {
    return { args: {}, rawArgs }
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
