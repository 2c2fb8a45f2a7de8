import { expect } from 'vitest'
import type { JsonObject, Message, ModelPart, ModelRequest, TextPart, ToolCallPart, ToolResult, ToolSpec } from '@koagent/core'
import { demoModel } from '../demo.ts'

function textParts(words: string): TextPart[] {
  return [{ type: 'text', text: words }]
}

/** A message of the person. */
export function user(words: string): Message {
  return { role: 'user', content: textParts(words) }
}

export function ok(words: string): ToolResult {
  return { content: textParts(words), isError: false }
}

export function failed(words: string): ToolResult {
  return { content: textParts(words), isError: true }
}

/** The parts of one answer. */
export async function partsOf(request: Partial<ModelRequest>): Promise<ModelPart[]> {
  const parts: ModelPart[] = []
  for await (const part of demoModel().stream({ messages: [], tools: [], ...request }, { signal: new AbortController().signal }))
    parts.push(part)
  return parts
}

export interface Answer {
  readonly said: string
  readonly calls: ToolCallPart[]
}

/** What one answer says, and its calls. */
export async function answerTo(request: Partial<ModelRequest>): Promise<Answer> {
  const answer = { said: '', calls: [] as ToolCallPart[] }
  for (const part of await partsOf(request)) {
    if (part.type === 'text_delta') answer.said += part.text
    if (part.type !== 'tool_call') continue
    const { callId, toolName, args } = part
    answer.calls.push({ type: 'tool_call', callId, toolName, args: JSON.parse(args as string) as JsonObject })
  }
  return answer
}

export type Called = readonly [name: string, args: JsonObject]

export interface Run {
  /** The calls of each turn. */
  readonly turns: readonly (readonly Called[])[]
  readonly said: string
  readonly messages: readonly Message[]
}

/** Runs a conversation as an agent would, until the model calls nothing more. */
export async function run(
  tools: readonly ToolSpec[],
  before: string | readonly Message[],
  execute: (...call: Called) => ToolResult = () => ok('done'),
): Promise<Run> {
  const messages: Message[] = typeof before === 'string' ? [user(before)] : [...before]
  const turns: Called[][] = []
  for (;;) {
    const { said, calls } = await answerTo({ messages, tools })
    messages.push({ role: 'assistant', content: [...textParts(said), ...calls] })
    if (calls.length === 0) return { turns, said, messages }
    turns.push(calls.map(({ toolName, args }) => [toolName, args]))
    messages.push({
      role: 'tool',
      content: calls.map(({ callId, toolName, args }) => ({ type: 'tool_result', callId, toolName, ...execute(toolName, args) })),
    })
    expect(turns.length).toBeLessThan(10)
  }
}
