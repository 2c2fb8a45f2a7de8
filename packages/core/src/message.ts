import type { Json, JsonObject } from './json.ts'

/**
 * Text that a person, the model, a tool or a middleware wrote. `cache` on content marks a good end for what is kept of a prompt between requests; providers that
 * need no marks, or have no such cache, ignore it.
 */
export interface TextPart {
  readonly type: 'text'
  readonly text: string
  /** Set on text that a middleware added (`ctx.addContext`), so that nobody takes it for the person's own words. */
  readonly added?: true
  readonly cache?: true
  /** What the provider that wrote it wants back with it. */
  readonly providerData?: Json
}

/** An image: base64 `data` with its media type, or a `url`. */
export interface ImagePart {
  readonly type: 'image'
  readonly mediaType: string
  readonly data?: string
  readonly url?: string
  readonly cache?: true
}

/** A file: base64 `data` with its media type, or a `url`. */
export interface FilePart {
  readonly type: 'file'
  readonly mediaType: string
  readonly name?: string
  readonly data?: string
  readonly url?: string
  readonly cache?: true
}

/** The model's thinking. `providerData` (a signature, encrypted text) is opaque and goes back to the same provider unchanged. */
export interface ReasoningPart {
  readonly type: 'reasoning'
  readonly text: string
  readonly blockId?: string
  readonly providerData?: Json
}

/** A call that the model asks for. `args` holds the schema's input form. */
export interface ToolCallPart {
  readonly type: 'tool_call'
  readonly callId: string
  readonly toolName: string
  readonly args: JsonObject
  /** The model's own text, where it was no JSON object (`args` is `{}` then). */
  readonly rawArgs?: string
  readonly providerData?: Json
}

/** The answer to one call. */
export interface ToolResultPart extends ToolResult {
  readonly type: 'tool_result'
  readonly callId: string
  readonly toolName: string
}

/** What a tool call came to. Plain JSON; `value` is the JSON form of what the tool returned, where that was more than text. */
export interface ToolResult {
  readonly content: readonly ContentPart[]
  readonly isError: boolean
  readonly value?: Json
}

export type ContentPart = TextPart | ImagePart | FilePart
export type AssistantPart = TextPart | ReasoningPart | ToolCallPart

export interface SystemMessage {
  readonly role: 'system'
  readonly content: readonly TextPart[]
}

export interface UserMessage {
  readonly role: 'user'
  readonly content: readonly ContentPart[]
}

export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: readonly AssistantPart[]
  /** Which provider wrote it: opaque data goes back to this one only. */
  readonly provider?: string
  readonly model?: string
  readonly providerData?: Json
}

/** The answers to the calls of the assistant message before it, in call order. */
export interface ToolMessage {
  readonly role: 'tool'
  readonly content: readonly ToolResultPart[]
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

/** What a run takes as its input: text, content parts or a whole user message. */
export type Input = string | readonly ContentPart[] | UserMessage

/** Is it something that a user message can be made of? Parts themselves are checked where they are stored. */
export function isInput(value: unknown): value is Input {
  const content = typeof value === 'object' && value !== null && 'content' in value ? value.content : value
  return typeof value === 'string' || Array.isArray(content)
}

/** A user message with one text part. */
export function userMessage(input: Input): UserMessage {
  if (typeof input === 'string') return { role: 'user', content: [{ type: 'text', text: input }] }
  return 'role' in input ? input : { role: 'user', content: input }
}

/** The text of a message or a tool result: its text parts joined, without reasoning and without added context. */
export function textOf(message: {
  readonly content: readonly { readonly type: string; readonly text?: string; readonly added?: true }[]
}): string {
  const { content } = message
  let text = ''
  for (let i = 0; i < content.length; i++) {
    const part = content[i]
    if (part?.type === 'text' && !part.added) text += part.text
  }
  return text
}

/**
 * Rewrites every text of a message or a tool result: its text parts, and each string in a result's `value`, which says the same once more. Opaque data
 * of a text goes with the words that it was about.
 */
export function mapText<Whole extends { readonly content: readonly { readonly type: string }[]; readonly value?: Json }>(
  whole: Whole,
  rewrite: (text: string) => string,
): Whole {
  const content = whole.content.map((part) => (part.type === 'text' && 'text' in part ? reworded(part, rewrite) : part))
  const value = whole.value === undefined ? {} : { value: mapStrings(whole.value, rewrite) }
  return { ...whole, content, ...value }
}

function reworded(part: { readonly text: unknown; readonly providerData?: Json }, rewrite: (text: string) => string): object {
  const text = rewrite(String(part.text))
  const { providerData: _, ...rest } = part
  return text === part.text ? part : { ...rest, text }
}

function mapStrings(value: Json, rewrite: (text: string) => string): Json {
  if (typeof value === 'string') return rewrite(value)
  if (Array.isArray(value)) return value.map((item: Json) => mapStrings(item, rewrite))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, item === undefined ? item : mapStrings(item, rewrite)]),
  )
}

/** The calls of a message, in order. Only an assistant's has any. */
export function callsOf({ role, content }: Message): ToolCallPart[] {
  const calls: ToolCallPart[] = []
  // By index: methods and iterators of frozen arrays are several times slower.
  if (role === 'assistant')
    for (let i = 0; i < content.length; i++) if (content[i]?.type === 'tool_call') calls.push(content[i] as ToolCallPart)
  return calls
}
