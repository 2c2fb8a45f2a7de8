import type { JsonObject, Usage } from '@koagent/core'
import { blockReader } from './blocks.ts'
import type { Block, BlockEvent } from './blocks.ts'
import { jsonIn } from '../values.ts'
import { typedFrame } from './encoder.ts'
import type { AnswerFacts, Encoder } from './encoder.ts'
import { anthropicError } from './failure.ts'

const reasons: Readonly<Record<string, string>> = {
  stop: 'end_turn',
  tool_calls: 'tool_use',
  length: 'max_tokens',
  content_filter: 'refusal',
}

/** The answer of one call of Anthropic's messages. */
export function messagesEncoder({ id: name, model, usage: told }: AnswerFacts): Encoder {
  const reader = blockReader(name)
  let usage = told
  let stopReason: string | undefined
  let begun = false

  const message = (content: readonly JsonObject[], reason: string | null, count: Usage): JsonObject => ({
    id: `msg_${name}`,
    type: 'message',
    role: 'assistant',
    model,
    content,
    stop_reason: reason,
    stop_sequence: null,
    usage: usageOf(count),
  })

  function begin(): string[] {
    if (begun) return []
    begun = true
    const start = { type: 'message_start', message: message([], null, { ...usage, outputTokens: 1, reasoningTokens: 0 }) }
    return [typedFrame(start), typedFrame({ type: 'ping' })]
  }

  return {
    get finished() {
      return stopReason !== undefined
    },
    push(part) {
      if (part.type === 'usage') usage = part.usage
      if (part.type !== 'finish') return [...begin(), ...reader.push(part).flatMap(framesOf)]
      stopReason = part.rawReason ?? reasons[part.reason] ?? part.reason
      return []
    },
    end: () => [
      ...begin(),
      ...reader.end().flatMap(framesOf),
      typedFrame({
        type: 'message_delta',
        delta: { stop_reason: stopReason, stop_sequence: null },
        usage: usageOf(usage),
      }),
      typedFrame({ type: 'message_stop' }),
    ],
    error: (failure) => typedFrame({ ...anthropicError(failure), type: 'error' }),
    whole: () => message(reader.blocks.map(contentOf), stopReason ?? null, usage),
  }
}

function framesOf(event: BlockEvent): string[] {
  const { block } = event
  const { index } = block
  if (event.type === 'begin') return [typedFrame({ type: 'content_block_start', index, content_block: emptyOf(block) })]
  const delta = (fields: JsonObject): string => typedFrame({ type: 'content_block_delta', index, delta: fields })
  if (event.type === 'delta') return [delta(deltaOf(block, event.text))]
  const signature = block.kind === 'reasoning' ? [delta({ type: 'signature_delta', signature: block.opaque })] : []
  return [...signature, typedFrame({ type: 'content_block_stop', index })]
}

function deltaOf({ kind }: Block, text: string): JsonObject {
  if (kind === 'text') return { type: 'text_delta', text }
  if (kind === 'reasoning') return { type: 'thinking_delta', thinking: text }
  return { type: 'input_json_delta', partial_json: text }
}

function emptyOf({ kind, callId, toolName }: Block): JsonObject {
  if (kind === 'text') return { type: 'text', text: '' }
  if (kind === 'reasoning') return { type: 'thinking', thinking: '', signature: '' }
  return { type: 'tool_use', id: callId, name: toolName, input: {} }
}

function contentOf(block: Block): JsonObject {
  const empty = emptyOf(block)
  if (block.kind === 'text') return { ...empty, text: block.text }
  if (block.kind === 'reasoning') return { ...empty, thinking: block.text, signature: block.opaque }
  return { ...empty, input: jsonIn(block.text || '{}') ?? block.text }
}

/** Anthropic counts what was cached beside the rest of the input, not in it. */
function usageOf(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage
  return {
    input_tokens: inputTokens - cachedInputTokens - cacheWriteTokens,
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedInputTokens,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
  }
}
