import type { JsonObject, ModelPart, Usage } from '@koagent/core'
import type { AnswerFacts, Encoder } from './encoder.ts'
import { openaiError } from './failure.ts'

interface Call {
  readonly id: string
  readonly name: string
  json: string
}

/** The answer of one chat completion. */
export function chatEncoder({ id: name, model, includeUsage, usage: told }: AnswerFacts): Encoder {
  const id = `chatcmpl-${name}`
  const created = Math.floor(Date.now() / 1000)
  const calls: Call[] = []
  const open = new Map<string, number>()
  let text = ''
  let reasoning = ''
  let usage = told
  let finishReason: string | undefined
  let begun = false

  /** The index of a call, and the delta that begins it where it is new. A model may give calls no id. */
  function begunCall(callId: string, toolName: string): { index: number; deltas: JsonObject[] } {
    const key = callId || toolName
    const known = open.get(key)
    if (known !== undefined) return { index: known, deltas: [] }
    const index = calls.push({ id: callId || `${id}-call-${calls.length}`, name: toolName, json: '' }) - 1
    open.set(key, index)
    const begin = { index, id: calls[index]?.id, type: 'function', function: { name: toolName, arguments: '' } }
    return { index, deltas: [{ tool_calls: [begin] }] }
  }

  function added(callId: string, toolName: string, rest: (json: string) => string): JsonObject[] {
    const { index, deltas } = begunCall(callId, toolName)
    const call = calls[index] as Call
    const more = rest(call.json)
    call.json += more
    return more ? [...deltas, { tool_calls: [{ index, function: { arguments: more } }] }] : deltas
  }

  function deltasOf(part: ModelPart): JsonObject[] {
    if (part.type === 'text_delta') {
      text += part.text
      return [{ content: part.text }]
    }
    if (part.type === 'reasoning_delta') {
      reasoning += part.text
      return [{ reasoning_content: part.text }]
    }
    if (part.type === 'tool_call_delta') return added(part.callId, part.toolName, () => part.delta)
    if (part.type === 'tool_call') {
      const json = typeof part.args === 'string' ? part.args : JSON.stringify(part.args)
      const deltas = added(part.callId, part.toolName, (sent) => (json.startsWith(sent) ? json.slice(sent.length) : ''))
      open.delete(part.callId || part.toolName)
      return deltas
    }
    if (part.type === 'usage') usage = part.usage
    if (part.type === 'finish') finishReason = part.rawReason ?? part.reason
    return []
  }

  const head = { id, object: 'chat.completion.chunk', created, model }
  const chunk = (delta: JsonObject, reason: string | null = null): string =>
    frame({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: reason }] })

  function begin(): string[] {
    if (begun) return []
    begun = true
    return [chunk({ role: 'assistant', content: '' })]
  }

  return {
    get finished() {
      return finishReason !== undefined
    },
    push(part) {
      const deltas = deltasOf(part).map((delta) => chunk(delta))
      return part.type === 'finish' ? [] : [...begin(), ...deltas]
    },
    end: () => [
      ...begin(),
      chunk({}, finishReason),
      ...(includeUsage ? [frame({ ...head, choices: [], usage: usageOf(usage) })] : []),
      'data: [DONE]\n\n',
    ],
    error: (failure) => frame(openaiError(failure)),
    whole: () => ({
      ...head,
      object: 'chat.completion',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: text || calls.length === 0 ? text : null,
            refusal: null,
            ...(reasoning && { reasoning_content: reasoning }),
            ...(calls.length > 0 && {
              tool_calls: calls.map((call) => ({
                id: call.id,
                type: 'function',
                function: { name: call.name, arguments: call.json },
              })),
            }),
          },
          logprobs: null,
          finish_reason: finishReason ?? null,
        },
      ],
      usage: usageOf(usage),
    }),
  }
}

function frame(payload: JsonObject): string {
  return `data: ${JSON.stringify(payload)}\n\n`
}

function usageOf({ inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens, reasoningTokens = 0 }: Usage): JsonObject {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: {
      cached_tokens: cachedInputTokens,
      ...(cacheWriteTokens !== undefined && { cache_write_tokens: cacheWriteTokens }),
    },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}
