import type { FinishReason, JsonObject, Usage } from '@koagent/core'
import { blockReader } from './blocks.ts'
import type { Block, BlockEvent } from './blocks.ts'
import { typedFrame } from './encoder.ts'
import type { AnswerFacts, Encoder } from './encoder.ts'
import { openaiError } from './failure.ts'

type Payload = JsonObject & { readonly type: string }

/** How a response ends. */
interface Ending {
  readonly status: 'completed' | 'incomplete' | 'failed'
  readonly reason?: string
}

const endings: Readonly<Partial<Record<FinishReason, Ending>>> = {
  length: { status: 'incomplete', reason: 'max_output_tokens' },
  content_filter: { status: 'incomplete', reason: 'content_filter' },
  error: { status: 'failed' },
}

/** The answer of one call of OpenAI's Responses. */
export function responsesEncoder({ id: name, model, usage: told }: AnswerFacts): Encoder {
  const reader = blockReader(name)
  const created = Math.floor(Date.now() / 1000)
  let usage = told
  let ending: Ending | undefined
  let sequence = 0

  const frame = (payload: Payload): string => typedFrame({ ...payload, sequence_number: sequence++ })

  const response = (status: string, { reason }: Partial<Ending> = {}): JsonObject => {
    const ended = status !== 'in_progress'
    return {
      id: `resp_${name}`,
      object: 'response',
      created_at: created,
      status,
      error: status === 'failed' ? { code: 'server_error', message: 'the model failed' } : null,
      incomplete_details: reason === undefined ? null : { reason },
      instructions: null,
      metadata: {},
      model,
      output: ended ? reader.blocks.map((block) => itemOf(name, block, true)) : [],
      parallel_tool_calls: true,
      temperature: 1,
      tool_choice: 'auto',
      tools: [],
      top_p: 1,
      usage: ended ? usageOf(usage) : null,
    }
  }

  function begin(): string[] {
    if (sequence > 0) return []
    const started = response('in_progress')
    return [frame({ type: 'response.created', response: started }), frame({ type: 'response.in_progress', response: started })]
  }

  const framesOf = (events: readonly BlockEvent[]): string[] => events.flatMap((event) => payloadsOf(name, event)).map(frame)

  return {
    get finished() {
      return ending !== undefined
    },
    push(part) {
      if (part.type === 'usage') usage = part.usage
      if (part.type !== 'finish') return [...begin(), ...framesOf(reader.push(part))]
      const { status, reason = part.rawReason } = endings[part.reason] ?? { status: 'completed' as const }
      ending = { status, ...(status === 'incomplete' && reason !== undefined && { reason }) }
      return []
    },
    end() {
      const { status, ...why } = ending ?? { status: 'completed' as const }
      return [...begin(), ...framesOf(reader.end()), frame({ type: `response.${status}`, response: response(status, why) })]
    },
    error(failure) {
      const { message, code } = failure
      const { type } = openaiError(failure)['error'] as JsonObject
      return frame({ type: 'error', code: code ?? type, message, param: null })
    },
    whole: () => response(ending?.status ?? 'incomplete', ending),
  }
}

function payloadsOf(name: string, event: BlockEvent): Payload[] {
  const { block } = event
  const { index, kind } = block
  const at = { item_id: itemId(name, block), output_index: index }
  const added = { type: 'response.output_item.added', output_index: index, item: itemOf(name, block, false) }
  const done = { type: 'response.output_item.done', output_index: index, item: itemOf(name, block, true) }
  const types = {
    text: ['response.output_text', 'response.content_part', 'content_index'],
    reasoning: ['response.reasoning_summary_text', 'response.reasoning_summary_part', 'summary_index'],
    tool_call: ['response.function_call_arguments', '', ''],
  } as const
  const [text, part, partIndex] = types[kind]
  const inPart = part === '' ? at : { ...at, [partIndex]: 0 }
  const logprobs = kind === 'text' ? { logprobs: [] } : {}
  if (event.type === 'begin') {
    return part === '' ? [added] : [added, { type: `${part}.added`, ...inPart, part: partOf(kind, '') }]
  }
  if (event.type === 'delta') return [{ type: `${text}.delta`, ...inPart, delta: event.text, ...logprobs }]
  if (part === '') return [{ type: `${text}.done`, ...at, name: block.toolName, arguments: block.text }, done]
  return [
    { type: `${text}.done`, ...inPart, text: block.text, ...logprobs },
    { type: `${part}.done`, ...inPart, part: partOf(kind, block.text) },
    done,
  ]
}

function partOf(kind: Block['kind'], text: string): JsonObject {
  return kind === 'text' ? { type: 'output_text', text, annotations: [], logprobs: [] } : { type: 'summary_text', text }
}

function itemId(name: string, { kind, index }: Block): string {
  return `${{ text: 'msg', reasoning: 'rs', tool_call: 'fc' }[kind]}_${name}_${index}`
}

function itemOf(name: string, block: Block, whole: boolean): JsonObject {
  const id = itemId(name, block)
  const { kind, callId, toolName, text, opaque } = block
  if (kind === 'reasoning') {
    const summary = whole && text ? [partOf(kind, text)] : []
    return { id, type: 'reasoning', summary, encrypted_content: whole ? opaque : null }
  }
  const status = whole ? 'completed' : 'in_progress'
  if (kind === 'text') return { id, type: 'message', status, role: 'assistant', content: whole ? [partOf(kind, text)] : [] }
  return { id, type: 'function_call', status, call_id: callId, name: toolName, arguments: whole ? text : '' }
}

function usageOf(usage: Usage): JsonObject {
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, reasoningTokens = 0 } = usage
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  }
}
