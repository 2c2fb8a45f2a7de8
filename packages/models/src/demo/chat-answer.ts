import type { JsonObject, ModelPart, Usage } from '@koagent/core'

/** Turns the parts of a model's answer into the chunks of a chat completion. */
export interface ChatAnswer {
  /** The deltas that one part comes to. */
  push(part: ModelPart): JsonObject[]
  /** One chunk of the stream. */
  chunk(delta: JsonObject, finishReason?: string): JsonObject
  /** The usage chunk that ends a stream. */
  usageChunk(): JsonObject
  /** All of it, for a client that does not stream. */
  completion(): JsonObject
  /** Why the model ended; undefined while it has not. */
  readonly finishReason: string | undefined
}

interface Call {
  readonly id: string
  readonly name: string
  json: string
}

/** A fresh answer of `model`, under the id that its chunks share. */
export function chatAnswer(id: string, model: string, created: number): ChatAnswer {
  const calls: Call[] = []
  const open = new Map<string, number>()
  let text = ''
  let reasoning = ''
  let usage: Usage = { inputTokens: 0, outputTokens: 0 }
  let finishReason: string | undefined

  /** The index of a call, and the delta that begins it where it is new. A model may give calls no id. */
  function begun(callId: string, name: string): { index: number; deltas: JsonObject[] } {
    const key = callId || name
    const known = open.get(key)
    if (known !== undefined) return { index: known, deltas: [] }
    const index = calls.push({ id: callId || `${id}-call-${calls.length}`, name, json: '' }) - 1
    open.set(key, index)
    return {
      index,
      deltas: [{ tool_calls: [{ index, id: calls[index]?.id, type: 'function', function: { name, arguments: '' } }] }],
    }
  }
  function added(callId: string, name: string, rest: (json: string) => string): JsonObject[] {
    const { index, deltas } = begun(callId, name)
    const call = calls[index] as Call
    const more = rest(call.json)
    call.json += more
    return more ? [...deltas, { tool_calls: [{ index, function: { arguments: more } }] }] : deltas
  }

  return {
    get finishReason() {
      return finishReason
    },
    push(part) {
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
    },
    chunk: (delta, reason) => ({
      id,
      object: 'chat.completion.chunk',
      created,
      model,
      choices: [{ index: 0, delta, logprobs: null, finish_reason: reason ?? null }],
    }),
    usageChunk: () => ({ id, object: 'chat.completion.chunk', created, model, choices: [], usage: usageOf(usage) }),
    completion: () => ({
      id,
      object: 'chat.completion',
      created,
      model,
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: text || calls.length === 0 ? text : null,
            refusal: null,
            ...(reasoning && { reasoning_content: reasoning }),
            ...(calls.length > 0 && {
              tool_calls: calls.map(({ id, name, json }) => ({ id, type: 'function', function: { name, arguments: json } })),
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

function usageOf({ inputTokens, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 }: Usage): JsonObject {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: reasoningTokens },
  }
}
