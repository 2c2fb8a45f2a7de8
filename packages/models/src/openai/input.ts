import type { ContentPart, Message, ToolMessage } from '@koagent/core'
import type { ResponseInputContent, ResponseInputItem } from 'openai/resources/responses/responses'
import { assistantItems } from './echo.ts'
import type { Recipient } from './echo.ts'

/** The conversation as input items, in order. Texts that are empty are left out. */
export function inputItems(messages: readonly Message[], to: Recipient): ResponseInputItem[] {
  return messages.flatMap((message) => {
    switch (message.role) {
      case 'assistant':
        return assistantItems(message, to)
      case 'tool':
        return resultItems(message)
      default: {
        const content = contentOf(message.content)
        return content.length > 0 ? [{ role: message.role, content }] : []
      }
    }
  })
}

function resultItems({ content }: ToolMessage): ResponseInputItem[] {
  return content.map(({ callId, content: parts }) => ({
    type: 'function_call_output',
    call_id: callId,
    output: contentOf(parts),
  }))
}

/** Text alone is a string. */
function contentOf(parts: readonly ContentPart[]): string | ResponseInputContent[] {
  const full = parts.filter((part) => part.type !== 'text' || part.text !== '')
  const texts = full.flatMap((part) => (part.type === 'text' ? part.text : []))
  return texts.length === full.length ? texts.join('\n') : full.map(contentPart)
}

function contentPart(part: ContentPart): ResponseInputContent {
  if (part.type === 'text') return { type: 'input_text', text: part.text }
  const { mediaType, data } = part
  const name = part.type === 'file' ? part.name : undefined
  const url = data === undefined ? part.url : `data:${mediaType};base64,${data}`
  if (url === undefined) {
    return { type: 'input_text', text: `[${[part.type, name, mediaType, 'without its data'].filter(Boolean).join(' ')}]` }
  }
  if (mediaType.startsWith('image/')) return { type: 'input_image', image_url: url, detail: 'auto' }
  if (data === undefined) return { type: 'input_file', file_url: url }
  return { type: 'input_file', filename: name ?? 'file', file_data: url }
}
