import type { Json, JsonObject } from '../json.ts'
import type { ContentPart } from '../message.ts'

/** Is it a text, image or file part by its structure? */
export function isContentPart(part: unknown): part is ContentPart {
  if (typeof part !== 'object' || part === null) return false
  const { type, text, mediaType, data, url } = part as Record<string, unknown>
  if (type === 'text') return typeof text === 'string'
  return (
    (type === 'image' || type === 'file') &&
    typeof mediaType === 'string' &&
    (typeof data === 'string' || typeof url === 'string')
  )
}

/** Content parts from a list that is nothing but those, ours or MCP's; undefined for any other list. */
export function partsOf(list: readonly Json[]): ContentPart[] | undefined {
  const parts = list.map(partOf)
  return parts.length > 0 && parts.every((part) => part !== undefined) ? parts : undefined
}

// Our parts as they are; MCP's image, audio, embedded resource and resource link as ours.
function partOf(part: Json): ContentPart | undefined {
  if (isContentPart(part)) return part
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return undefined
  const { type, data, mimeType, resource, uri, name } = part as JsonObject
  if (type === 'resource_link' && typeof uri === 'string') {
    return { type: 'text', text: typeof name === 'string' ? `${name}: ${uri}` : uri }
  }
  if (type === 'resource' && resource) return resourceOf(resource as JsonObject)
  if ((type !== 'image' && type !== 'audio') || typeof data !== 'string' || typeof mimeType !== 'string') return undefined
  return { type: type === 'image' ? 'image' : 'file', mediaType: mimeType, data }
}

function resourceOf({ text, blob, mimeType, uri }: JsonObject): ContentPart | undefined {
  if (typeof text === 'string') return { type: 'text', text }
  if (typeof blob !== 'string') return undefined
  const mediaType = typeof mimeType === 'string' ? mimeType : 'application/octet-stream'
  return { type: 'file', mediaType, data: blob, ...(typeof uri === 'string' && { name: uri }) }
}
