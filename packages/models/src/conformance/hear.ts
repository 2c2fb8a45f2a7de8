import type { FinishReason, JsonObject, Model, ModelPart, ModelRequest, Usage } from '@koagent/core'
import { isObject, jsonIn } from '../values.ts'
import { promptly } from './must.ts'

/** A request of one message. */
export const question: ModelRequest = { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }], tools: [] }

/** A call as a model gave it. */
export interface HeardCall {
  readonly callId: string
  readonly toolName: string
  readonly args: JsonObject | undefined
}

/** One answer, put together. */
export interface Heard {
  readonly parts: readonly ModelPart[]
  readonly texts: readonly string[]
  readonly text: string
  readonly calls: readonly HeardCall[]
  readonly usage: Usage | undefined
  readonly reason: FinishReason | undefined
}

/** A model's whole answer. */
export async function hear(model: Model, request: ModelRequest = question, signal?: AbortSignal): Promise<Heard> {
  const parts: ModelPart[] = []
  const read = async (): Promise<void> => {
    for await (const part of model.stream(request, { signal: signal ?? new AbortController().signal })) parts.push(part)
  }
  await promptly(read(), 'an answer')
  return heard(parts)
}

export function heard(parts: readonly ModelPart[]): Heard {
  const texts = parts.flatMap((part) => (part.type === 'text_delta' ? [part.text] : []))
  return {
    parts,
    texts,
    text: texts.join(''),
    calls: parts.flatMap((part) =>
      part.type === 'tool_call' ? [{ callId: part.callId, toolName: part.toolName, args: argsOf(part.args) }] : [],
    ),
    usage: parts.flatMap((part) => (part.type === 'usage' ? [part.usage] : [])).at(-1),
    reason: parts.flatMap((part) => (part.type === 'finish' ? [part.reason] : [])).at(-1),
  }
}

/** Undefined where they are no object. Absent or blank ones are `{}`, as in a run. */
export function argsOf(args: unknown): JsonObject | undefined {
  const value = typeof args === 'string' ? jsonIn(args.trim() || '{}') : (args ?? {})
  return isJsonObject(value) ? value : undefined
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value)
}
