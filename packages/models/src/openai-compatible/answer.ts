import type { ModelError, ModelPart, Usage } from '@koagent/core'
import { ending } from '../call/ending.ts'
import type { AnswerReader } from '../call/read.ts'
import { isObject, textIn } from '../values.ts'
import { finishReasonOf } from './finish-reason.ts'
import { reasoningReader, thinkingText } from './reasoning.ts'
import { toolCallAssembler } from './tool-calls.ts'
import { usageIn } from './usage.ts'

/** A reader for the chunks of one chat completion. */
export function chatReader(fail: (what: string) => ModelError): AnswerReader {
  const calls = toolCallAssembler(fail)
  const reasoning = reasoningReader()
  let usage: Usage | undefined
  let rawReason = ''
  let said = ''
  let hasReasoned = false
  let hasCalled = false
  /** The choices with an index above 0, until there is one with 0. */
  let others: Record<string, unknown>[] | undefined = []

  function* textParts(content: unknown): Generator<ModelPart> {
    for (const part of Array.isArray(content) ? content : [content]) {
      if (isObject(part) && part['type'] === 'thinking') yield* reasoning.think(thinkingText(part['thinking']))
      else yield* textPart(isObject(part) && part['type'] === 'text' ? textIn(part['text']) : textIn(part))
    }
  }

  function* textPart(text: string): Generator<ModelPart> {
    if (!text) return
    yield* reasoning.end()
    said += text
    yield { type: 'text_delta', text }
  }

  function* deltaParts(delta: Record<string, unknown>): Generator<ModelPart> {
    yield* reasoning.push(delta)
    yield* textParts(delta['content'])
    // A refusal is text for the reader, too.
    yield* textPart(textIn(delta['refusal']))
    const fragments = delta['tool_calls']
    if (!Array.isArray(fragments) || fragments.length === 0) return
    hasCalled = true
    yield* reasoning.end()
    yield* calls.push(fragments)
  }

  /**
   * What a message says that the deltas have not. It is all there is from a server that does not stream; others repeat everything in it at the end,
   * or keep the calls for it.
   */
  function unsaid(message: Record<string, unknown>): Record<string, unknown> {
    const { content, refusal, tool_calls, ...rest } = message
    const text = textIn(content)
    return {
      ...(!hasReasoned && !said && rest),
      ...(said ? { content: text.startsWith(said) ? text.slice(said.length) : '' } : { content, refusal }),
      ...(!hasCalled && { tool_calls }),
    }
  }

  function choiceParts(choice: Record<string, unknown>): ModelPart[] {
    rawReason = textIn(choice['finish_reason']) || rawReason
    const { delta, message } = choice
    const parts = isObject(delta) ? [...deltaParts(delta)] : []
    if (isObject(message)) parts.push(...deltaParts(unsaid(message)))
    hasReasoned ||= parts.some((part) => part.type === 'reasoning_delta')
    return parts
  }

  return {
    get complete() {
      return rawReason !== '' || (others?.some((choice) => textIn(choice['finish_reason'])) ?? false)
    },

    push(chunk) {
      usage = usageIn(chunk, usage)
      const { choices } = chunk
      return (Array.isArray(choices) ? choices : []).filter(isObject).flatMap((choice) => {
        // A request for several answers is read as one for the first. Copilot spreads one answer over two choices of index 0.
        if (Number(choice['index']) > 0) {
          others?.push(choice)
          return []
        }
        others = undefined
        return choiceParts(choice)
      })
    },

    end() {
      // Where only choices of another index came, they are all there is (BerriAI/litellm#376).
      const late = (others ?? []).filter(({ index }) => index === others?.[0]?.['index']).flatMap(choiceParts)
      const rest = [...late, ...reasoning.end(), ...(hasCalled ? reasoning.owed() : []), ...calls.end()]
      const hasCalls = rest.some((part) => part.type === 'tool_call')
      const reason = rawReason ? finishReasonOf(rawReason) : undefined
      return [...rest, ...ending({ usage, reason, rawReason, hasText: said !== '', hasCalls })]
    },
  }
}
