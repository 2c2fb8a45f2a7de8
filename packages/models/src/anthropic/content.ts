import type { ContentPart, FilePart, ImagePart, TextPart, ToolResultPart } from '@koagent/core'
import type {
  Base64ImageSource,
  CacheControlEphemeral,
  DocumentBlockParam,
  ImageBlockParam,
  TextBlockParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages'

export type ContentBlock = TextBlockParam | ImageBlockParam | DocumentBlockParam

/** Content as blocks. Text without a visible character is left out: the API refuses it. */
export function contentBlocks(parts: readonly ContentPart[], mark: CacheControlEphemeral): ContentBlock[] {
  return parts.flatMap((part): ContentBlock[] => {
    if (part.type === 'text') return textBlocks([part], mark)
    const block = mediaBlock(part) ?? note(part)
    return [part.cache ? { ...block, cache_control: mark } : block]
  })
}

/** The same for text alone. */
export function textBlocks(parts: readonly TextPart[], mark: CacheControlEphemeral): TextBlockParam[] {
  return parts
    .filter(({ text }) => text.trim() !== '')
    .map(({ text, cache }) => ({ type: 'text', text, ...(cache && { cache_control: mark }) }))
}

/** Within a result nothing can be marked, so the result is; and one that is an error may hold text only. */
export function resultBlock({ callId, content, isError }: ToolResultPart, mark: CacheControlEphemeral): ToolResultBlockParam {
  const blocks = contentBlocks(
    content.map((part) => {
      const { cache: _, ...rest } = part
      return isError && rest.type !== 'text' ? note(rest) : rest
    }),
    mark,
  )
  return {
    type: 'tool_result',
    tool_use_id: toolUseId(callId),
    ...(blocks.length > 0 && { content: blocks }),
    ...(isError && { is_error: true }),
    ...(content.some(({ cache }) => cache) && { cache_control: mark }),
  }
}

/** An id that the API takes. Another provider's may hold any character; the same id always becomes the same. */
export function toolUseId(callId: string): string {
  return callId.replace(/[^a-zA-Z0-9_-]/gu, (character) => `_${character.codePointAt(0)?.toString(16)}_`)
}

/** The block for an image or a file, or undefined where the API has none for it. */
function mediaBlock(part: ImagePart | FilePart): ContentBlock | undefined {
  const { mediaType, data, url } = part
  const title = part.type === 'file' && part.name !== undefined ? { title: part.name } : {}
  if (mediaType === 'application/pdf') {
    if (data !== undefined) return { type: 'document', source: { type: 'base64', media_type: mediaType, data }, ...title }
    return url === undefined ? undefined : { type: 'document', source: { type: 'url', url }, ...title }
  }
  if (data === undefined)
    return url !== undefined && mediaType.startsWith('image/') ? { type: 'image', source: { type: 'url', url } } : undefined
  if (isImage(mediaType)) return { type: 'image', source: { type: 'base64', media_type: mediaType, data } }
  if (!mediaType.startsWith('text/')) return undefined
  const text = new TextDecoder().decode(Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0)))
  return text.trim() === ''
    ? undefined
    : { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...title }
}

function isImage(mediaType: string): mediaType is Base64ImageSource['media_type'] {
  return /^image\/(jpeg|png|gif|webp)$/.test(mediaType)
}

/** What stands in the place of something that cannot be sent. */
function note(part: ImagePart | FilePart): TextBlockParam {
  const name = part.type === 'file' ? part.name : undefined
  return {
    type: 'text',
    text: `[${[part.type, name, part.mediaType, part.url ?? 'without its data'].filter(Boolean).join(' ')}]`,
  }
}
