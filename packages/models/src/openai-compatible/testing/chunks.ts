import type { Model, ModelPart, ModelToolCall, Usage } from '@koagent/core'
import { expect } from 'vitest'
import { partsOf, streamed, wire } from '../../testing/wire.ts'
import { openaiCompatible } from '../openai-compatible.ts'

/** One chunk with a delta, as a server would send it. */
export function delta(fields: object, finish: string | null = null): string {
  return sent({ id: 'cc1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: fields, finish_reason: finish }] })
}

export type Fragment = readonly [index: unknown, id: unknown, name: unknown, args: unknown]

/** A chunk with one fragment of a tool call for each. */
export function calls(...fragments: readonly Fragment[]): string {
  return delta({ tool_calls: fragments.map(fragment) })
}

export function fragment([index, id, name, args]: Fragment): object {
  return { index, id, type: 'function', function: { name, arguments: args } }
}

export function sent(payload: unknown): string {
  return `data: ${JSON.stringify(payload)}\n\n`
}

export const no = undefined
export const stop: string = delta({}, 'stop')
export const done = 'data: [DONE]\n\n'
export const hi: string = delta({ role: 'assistant', content: 'hi' })

/** What an answer came to. */
export interface Answer {
  text: string
  reasoning: string
  calls: { id: string; name: string; args: ModelToolCall['args'] }[]
  reason: string
  raw: string | undefined
  usage: Usage | undefined
}

export const nothing: Answer = { text: '', reasoning: '', calls: [], reason: 'stop', raw: 'stop', usage: undefined }

export const one = (args: string, id = 'a', name = 'add'): Answer['calls'] => [{ id, name, args }]

/** A model whose server answers with this stream. */
export function serving(stream: readonly string[]): Model {
  return openaiCompatible({
    baseURL: 'http://acme.test/v1',
    model: 'm1',
    provider: 'acme',
    fetch: wire(() => streamed(stream)).fetch,
  })
}

/** The answer that a stream comes to. */
export async function answered(...stream: readonly string[]): Promise<Answer> {
  return answerOf(await partsOf(serving(stream)))
}

/** The answer that parts come to, after a look at what holds for all of them. */
export function answerOf(parts: readonly ModelPart[]): Answer {
  const whole: Answer = { ...nothing, calls: [], reason: '', raw: undefined }
  const deltas: Record<string, string> = {}
  for (const part of parts) {
    if (part.type === 'text_delta') whole.text += part.text
    if (part.type === 'reasoning_delta') whole.reasoning += part.text
    if (part.type === 'tool_call_delta') deltas[part.callId] = (deltas[part.callId] ?? '') + part.delta
    if (part.type === 'tool_call') whole.calls.push({ id: part.callId, name: part.toolName, args: part.args })
    if (part.type === 'usage') whole.usage = part.usage
    if (part.type === 'finish') [whole.reason, whole.raw] = [part.reason, part.rawReason]
  }
  const kinds = parts.map((part) => part.type)
  expect(kinds.filter((kind) => kind === 'finish')).toEqual(['finish'])
  expect(kinds.at(-1)).toBe('finish')
  expect(kinds.filter((kind) => kind === 'usage').length).toBe(whole.usage ? 1 : 0)
  expect(parts).not.toContainEqual(expect.objectContaining({ text: '' }))
  expect(parts).not.toContainEqual(expect.objectContaining({ toolName: '' }))
  // Deltas belong to the first call of an id.
  const args: Record<string, string> = {}
  for (const call of whole.calls) args[call.id] ??= String(call.args)
  for (const [id, text] of Object.entries(args)) if (!text) delete args[id]
  expect(deltas).toEqual(args)
  return whole
}
