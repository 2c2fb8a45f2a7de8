import type { FinishReason, ModelError, ModelPart, Usage } from '@koagent/core'
import type { AnswerReader } from '../call/read.ts'
import { toolCallAssembler } from './tool-calls.ts'
import { usageOf } from './usage.ts'
import { isObject, textIn } from '../values.ts'

const reasons = new Map<string, FinishReason>([
  ['stop', 'stop'],
  ['tool_calls', 'tool_calls'],
  ['function_call', 'tool_calls'],
  ['length', 'length'],
  ['content_filter', 'content_filter'],
  ['error', 'error'],
])

/** A reader for the chunks of one chat completion. */
export function chatReader(fail: (what: string) => ModelError): AnswerReader {
  const calls = toolCallAssembler(fail)
  let usage: Usage | undefined
  let rawReason = ''
  let begun = false
  let hasText = false
  /** The field that the open reasoning block came in. */
  let reasoningField = ''

  function endReasoning(): ModelPart[] {
    if (!reasoningField) return []
    const field = reasoningField
    reasoningField = ''
    return [{ type: 'reasoning_end', providerData: { field } }]
  }

  function* deltaParts(delta: Record<string, unknown>): Generator<ModelPart> {
    // Some servers send the same text under both names.
    const field = textIn(delta['reasoning_content']) ? 'reasoning_content' : 'reasoning'
    const reasoning = textIn(delta[field])
    if (reasoning) {
      reasoningField = field
      yield { type: 'reasoning_delta', text: reasoning }
    }
    for (const text of textsOf(delta['content'], delta['refusal'])) {
      yield* endReasoning()
      hasText = true
      yield { type: 'text_delta', text }
    }
    const fragments = delta['tool_calls']
    if (!Array.isArray(fragments) || fragments.length === 0) return
    yield* endReasoning()
    yield* calls.push(fragments)
  }

  return {
    get complete() {
      return rawReason !== ''
    },

    push(chunk) {
      usage = usageOf(chunk['usage']) ?? usage
      const choice: unknown = Array.isArray(chunk['choices']) ? chunk['choices'][0] : undefined
      if (!isObject(choice)) return []
      rawReason = textIn(choice['finish_reason']) || rawReason
      // A server that does not stream answers with one whole message.
      const delta = choice['delta'] ?? (begun ? undefined : choice['message'])
      if (!isObject(delta)) return []
      begun = true
      return [...deltaParts(delta)]
    },

    end() {
      const whole = calls.end()
      const unsaid = hasText || whole.length > 0 ? 'stop' : 'other'
      const reason = rawReason ? (reasons.get(rawReason) ?? 'other') : unsaid
      return [
        ...endReasoning(),
        ...whole,
        ...(usage ? [{ type: 'usage' as const, usage }] : []),
        {
          type: 'finish',
          // 'stop' beside tool calls is what several servers say; the calls are the truth.
          reason: reason === 'stop' && whole.length > 0 ? 'tool_calls' : reason,
          ...(rawReason && { rawReason }),
        },
      ]
    },
  }
}

/** The visible text: a string, or a list of parts of which those of type text count. A refusal is text for the reader, too. */
function* textsOf(content: unknown, refusal: unknown): Generator<string> {
  const texts = Array.isArray(content)
    ? content.map((part) => (isObject(part) && part['type'] === 'text' ? textIn(part['text']) : ''))
    : [textIn(content)]
  for (const text of [...texts, textIn(refusal)]) if (text) yield text
}
