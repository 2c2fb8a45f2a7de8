import type { FilePart, ImagePart, ToolResult } from '@koagent/core'
import type { Version } from './model.ts'

type Media = ImagePart | FilePart

/** An image or a file of a user message. What has neither data nor a URL goes as a line of text that says so. */
export function filePart(part: Media, version: Version): object {
  const { mediaType } = part
  const { data, url } = sourceOf(part)
  const name = nameOf(part)
  if (data === undefined && url === undefined) return noteOn(part)
  const source = version === 'v4' ? (url ? { type: 'url', url } : { type: 'data', data }) : (url ?? data)
  return { type: 'file', mediaType, data: source, ...(name !== undefined && { filename: name }) }
}

/** What a tool call came to. Only text alone can be marked as an error. */
export function resultOutput({ content, isError }: ToolResult, version: Version): object {
  if (content.every((part) => part.type === 'text')) {
    return { type: isError ? 'error-text' : 'text', value: content.map(({ text }) => text).join('\n') }
  }
  const value = content.map((part) => (part.type === 'text' ? { type: 'text', text: part.text } : resultPart(part, version)))
  return { type: 'content', value }
}

/** An image or a file in a result: each version of the specification has its own form of it, and v2 none for a URL. */
function resultPart(part: Media, version: Version): object {
  const { data, url } = sourceOf(part)
  const { mediaType } = part
  if (version === 'v4' || (data === undefined && url === undefined)) return filePart(part, version)
  if (version === 'v2') return data === undefined ? noteOn(part) : { type: 'media', data, mediaType }
  const kind = mediaType.startsWith('image/') ? 'image' : 'file'
  const name = nameOf(part)
  if (url) return { type: `${kind}-url`, url: url.href, ...(kind === 'file' && { mediaType }) }
  return { type: `${kind}-data`, data, mediaType, ...(kind === 'file' && name !== undefined && { filename: name }) }
}

function sourceOf({ data, url }: Media): { readonly data?: string | undefined; readonly url?: URL | undefined } {
  if (data !== undefined || url === undefined) return { data }
  // Providers take a URL as one that the server can fetch.
  const inline = /^data:[^,]*;base64,(.*)$/is.exec(url)?.[1]
  if (inline !== undefined) return { data: inline }
  return { url: URL.canParse(url) ? new URL(url) : undefined }
}

function noteOn(part: Media): object {
  const { type, mediaType, url = 'without its data' } = part
  return { type: 'text', text: `[${[type, nameOf(part), mediaType, url].filter(Boolean).join(' ')}]` }
}

function nameOf(part: Media): string | undefined {
  return part.type === 'file' ? part.name : undefined
}
