import type { ContentPart, Message, ToolMessage } from '@koagent/core'
import type { ChatCompletionContentPart, ChatCompletionMessageParam } from 'openai/resources/chat/completions'
import { assistantMessages } from './assistant-message.ts'

/** Whom a conversation is sent to. */
export interface Recipient {
  readonly provider: string
  /** Whether system text may stand anywhere. Else only at the beginning, and later system text goes as the user's. */
  readonly systemAnywhere: boolean
}

/** The conversation in the form of chat completions. What precedes the first other message is one system message. */
export function chatMessages(
  system: string | undefined,
  messages: readonly Message[],
  to: Recipient,
): ChatCompletionMessageParam[] {
  const firstOther = messages.findIndex((message) => message.role !== 'system')
  const leading = firstOther === -1 ? messages : messages.slice(0, firstOther)
  const opening = [system, ...leading.map((message) => textsOf(message.content))].filter(Boolean).join('\n\n')
  const chat: ChatCompletionMessageParam[] = opening ? [{ role: 'system', content: opening }] : []
  for (const message of messages.slice(leading.length)) {
    if (message.role === 'system') {
      const text = textsOf(message.content)
      if (text) chat.push({ role: to.systemAnywhere ? 'system' : 'user', content: text })
    } else if (message.role === 'user') chat.push({ role: 'user', content: userContent(message.content) })
    else if (message.role === 'assistant') chat.push(...assistantMessages(message, message.provider === to.provider))
    else chat.push(...toolMessages(message))
  }
  return chat
}

/** Text alone goes as a string, which every server takes. Empty text beside anything else is left out: many servers refuse it. */
function userContent(content: readonly ContentPart[]): string | ChatCompletionContentPart[] {
  if (content.every((part) => part.type === 'text')) return textsOf(content)
  return content.filter((part) => part.type !== 'text' || part.text !== '').map(contentPart)
}

/** Marks for a cache are left out: OpenAI and most others cache without them, and a strict server refuses a field that it does not know. */
function contentPart(part: ContentPart): ChatCompletionContentPart {
  if (part.type === 'text') return { type: 'text', text: part.text }
  const { mediaType, data } = part
  const url = data === undefined ? part.url : `data:${mediaType};base64,${data}`
  if (url !== undefined && mediaType.startsWith('image/')) return { type: 'image_url', image_url: { url } }
  const audio = /^audio\/(?:x-)?(wav|mp3|mpeg)$/.exec(mediaType)?.[1]
  if (data !== undefined && audio) return { type: 'input_audio', input_audio: { data, format: audio === 'wav' ? 'wav' : 'mp3' } }
  const name = part.type === 'file' ? part.name : undefined
  if (data !== undefined) return { type: 'file', file: { filename: name ?? 'file', file_data: url as string } }
  return { type: 'text', text: `[${[part.type, name, mediaType, url ?? 'without its data'].filter(Boolean).join(' ')}]` }
}

/** One message per result. They hold text only, so what else the results hold follows in one user message, under the tool's name. */
function toolMessages({ content }: ToolMessage): ChatCompletionMessageParam[] {
  const results: ChatCompletionMessageParam[] = []
  const attachments: ChatCompletionContentPart[] = []
  for (const { callId, toolName, content: parts } of content) {
    const others = parts.filter((part) => part.type !== 'text')
    const notes = others.map((part) => `[${part.type} ${part.mediaType}: in the next user message]`)
    results.push({ role: 'tool', tool_call_id: callId, content: [textsOf(parts), ...notes].filter(Boolean).join('\n') })
    if (others.length > 0)
      attachments.push({ type: 'text', text: `From the result of ${toolName} (${callId}):` }, ...others.map(contentPart))
  }
  return attachments.length > 0 ? [...results, { role: 'user', content: attachments }] : results
}

function textsOf(content: readonly { readonly type: string; readonly text?: string }[]): string {
  return content
    .map((part) => (part.type === 'text' ? part.text : undefined))
    .filter(Boolean)
    .join('\n')
}
