import type { Open } from './freeze.ts'
import type { Json, JsonObject } from './json.ts'
import type { AssistantMessage, Message, ToolCallPart } from './message.ts'

/**
 * A language model.
 *
 * Contract: `stream` yields parts in order and exactly one `finish` at a normal end. It throws a `ModelError` for a failure, also for
 * a stream that ends without its finish reason, and the signal's reason when the signal aborts. It does not retry: that is the run's business.
 */
export interface Model {
  /** Who serves it, such as 'openai'. Opaque provider data is echoed only to the provider of the same name. */
  readonly provider: string
  readonly id: string
  stream(request: ModelRequest, options: ModelOptions): AsyncIterable<ModelPart>
}

export interface ModelOptions {
  /**
   * Aborts the call: a run that is cancelled, a step that timed out. Made when it is first read; whoever wraps a model hands its options on as they
   * are, since a spread of them leaves it out.
   */
  readonly signal: AbortSignal
}

/** What a model is asked. Tool names match `^[a-zA-Z0-9_-]{1,64}$`; every call in `messages` has its result. */
export interface ModelRequest {
  readonly system?: string
  readonly messages: readonly Message[]
  readonly tools: readonly ToolSpec[]
  readonly toolChoice?: ToolChoice
  readonly settings?: ModelSettings
}

/** A tool as the model sees it. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  /** JSON Schema of the arguments, `type: 'object'`. */
  readonly inputSchema: JsonObject
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly toolName: string }

export interface ModelSettings {
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly stop?: readonly string[]
  readonly seed?: number
  /** Further fields of the provider's request, sent as they are. */
  readonly extra?: JsonObject
}

/** One piece of a model's answer. A part of a type that core does not know passes through unused. */
export type ModelPart =
  | { readonly type: 'text_delta'; readonly text: string }
  /**
   * Ends a block of text; text that follows is a block of its own. Needed only where the provider wants its blocks back as they were. Whoever changes the text drops
   * `providerData`: it may repeat the words.
   */
  | { readonly type: 'text_end'; readonly providerData?: Json }
  | { readonly type: 'reasoning_delta'; readonly text: string; readonly blockId?: string }
  | { readonly type: 'reasoning_end'; readonly blockId?: string; readonly providerData?: Json }
  | { readonly type: 'tool_call_delta'; readonly callId: string; readonly toolName: string; readonly delta: string }
  | ModelToolCall
  | { readonly type: 'usage'; readonly usage: Usage }
  | { readonly type: 'raw'; readonly value: unknown }
  | { readonly type: 'finish'; readonly reason: FinishReason; readonly rawReason?: string; readonly providerData?: Json }

/** A complete call. `args` is the model's JSON text as it came, or an object where the provider sends one. */
export interface ModelToolCall {
  readonly type: 'tool_call'
  /** The provider's id; empty when it gave none. */
  readonly callId: string
  readonly toolName: string
  readonly args: string | JsonObject
  readonly providerData?: Json
}

/** Why the model ended. A reason that none of these fits is 'other', with the provider's own word in `rawReason`. */
export type FinishReason = 'stop' | 'tool_calls' | 'length' | 'content_filter' | 'error' | 'other'

/** Tokens. `inputTokens` includes the cached and cache-written ones, `outputTokens` the reasoning ones. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cachedInputTokens?: number
  readonly cacheWriteTokens?: number
  readonly reasoningTokens?: number
}

/** One whole answer of a model. `message` is the truth; `toolCalls` are its calls, in order. */
export interface LLMStep {
  readonly message: AssistantMessage
  readonly toolCalls: readonly ToolCallPart[]
  readonly finishReason: FinishReason
  readonly rawFinishReason?: string
  readonly usage: Usage
}

export const noUsage: Usage = Object.freeze({ inputTokens: 0, outputTokens: 0 })

/** The sum of two usages. A count that neither has stays absent. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: Open<Usage> = {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
  }
  const cached = plus(a.cachedInputTokens, b.cachedInputTokens)
  const written = plus(a.cacheWriteTokens, b.cacheWriteTokens)
  const reasoning = plus(a.reasoningTokens, b.reasoningTokens)
  if (cached !== undefined) sum.cachedInputTokens = cached
  if (written !== undefined) sum.cacheWriteTokens = written
  if (reasoning !== undefined) sum.reasoningTokens = reasoning
  return Object.freeze(sum)
}

function plus(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : a + (b ?? 0)
}
