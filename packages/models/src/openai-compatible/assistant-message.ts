import type { AssistantMessage, AssistantPart, JsonObject, ReasoningPart, ToolCallPart } from '@koagent/core'
import type {
  ChatCompletionAssistantMessageParam,
  ChatCompletionContentPartText,
  ChatCompletionMessageToolCall,
} from 'openai/resources/chat/completions'
import { isObject } from '../values.ts'
import { addDetails } from './reasoning-details.ts'

/**
 * An answer on its way back; none for one that holds nothing, which Mistral and others refuse. What is the provider's own goes with it only where it was this
 * provider's.
 */
export function assistantMessages({ content }: AssistantMessage, own: boolean): ChatCompletionAssistantMessageParam[] {
  const calls = content.filter((part) => part.type === 'tool_call')
  const visible = contentOf(content, own)
  const reasoning = own ? reasoningFields(content.filter((part) => part.type === 'reasoning')) : {}
  if (visible.length === 0 && calls.length === 0 && Object.keys(reasoning).length === 0) return []
  return [
    {
      role: 'assistant',
      content: visible.length > 0 || calls.length === 0 ? visible : null,
      ...(calls.length > 0 && { tool_calls: calls.map((call) => toolCall(call, own)) }),
      ...reasoning,
    },
  ]
}

/** One string, which every server takes; a list of parts, in their order, only for the one that had thinking in its list. */
function contentOf(content: readonly AssistantPart[], own: boolean): string | ChatCompletionContentPartText[] {
  const isThinking = (part: AssistantPart): boolean => own && part.type === 'reasoning' && fieldOf(part) === 'thinking'
  if (!content.some(isThinking)) return content.map((part) => (part.type === 'text' ? part.text : '')).join('')
  return content.flatMap((part): ChatCompletionContentPartText[] => {
    if (part.type === 'tool_call' || !part.text) return []
    const text = { type: 'text' as const, text: part.text }
    if (part.type === 'text') return [text]
    // Mistral's, which the SDK of OpenAI has no type for.
    return isThinking(part) ? [{ type: 'thinking', thinking: [text] } as unknown as ChatCompletionContentPartText] : []
  })
}

/** `args` is an object always, also where the model's own text was none: a server that parses it would fail the whole request. */
function toolCall({ callId, toolName, args, providerData }: ToolCallPart, own: boolean): ChatCompletionMessageToolCall {
  const { extra_content: extra }: JsonObject = own && isObject(providerData) ? providerData : {}
  return {
    ...(extra !== undefined && { extra_content: extra }),
    id: callId,
    type: 'function',
    function: { name: toolName, arguments: JSON.stringify(args) },
  }
}

/** Thinking goes back in the field that it came in: some servers refuse the next request without it. */
function reasoningFields(parts: readonly ReasoningPart[]): Record<string, string | JsonObject[]> {
  const fields: Record<string, string> = {}
  const details: JsonObject[] = []
  for (const part of parts) {
    const field = fieldOf(part)
    if (field === 'reasoning_details') addDetails(details, isObject(part.providerData) && part.providerData['details'])
    else if (field === 'reasoning' || field === 'reasoning_content' || field === 'reasoning_text')
      fields[field] = (fields[field] ?? '') + part.text
  }
  return { ...fields, ...(details.length > 0 && { reasoning_details: details }) }
}

function fieldOf({ providerData }: ReasoningPart): unknown {
  return isObject(providerData) ? providerData['field'] : undefined
}
