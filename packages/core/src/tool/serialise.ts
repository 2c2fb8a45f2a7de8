import { deepFreeze } from '../freeze.ts'
import type { Json, JsonObject } from '../json.ts'
import type { ContentPart, ToolResult } from '../message.ts'
import { toJson } from './json.ts'

export { toJson } from './json.ts'

/** Stands in a result that would be empty: providers refuse empty text. */
const nothing = '(no output)'

/** Results made here: a second pass gives back the same object. */
const made = new WeakSet<ToolResult>()

/**
 * The result of a tool that returned `value`, frozen. It never throws.
 *
 * - A string is the text. An empty one, and `undefined`, become `(no output)`.
 * - A `ToolResult`, a list of content parts and a result as MCP has it keep their parts.
 * - Anything else is its JSON as text, and as `value`.
 */
export function toResult(value: unknown): ToolResult {
  if (made.has(value as ToolResult)) return value as ToolResult
  if (value === undefined) return textResult(nothing)
  const json = toJson(value)
  if (typeof json === 'string') return textResult(json || nothing)
  const parts = Array.isArray(json) ? partsOf(json) : undefined
  if (parts) return result(parts, false)
  return wrapped(json) ?? result([{ type: 'text', text: stringify(json) }], false, json)
}

/** A result that tells the model what went wrong. */
export function errorResult(text: string): ToolResult {
  return textResult(text || 'error', true)
}

/** Is it a `ToolResult` by its structure: content parts and an error flag? */
export function isToolResult(value: unknown): value is ToolResult {
  if (typeof value !== 'object' || value === null) return false
  const { content, isError } = value as Partial<ToolResult>
  return typeof isError === 'boolean' && Array.isArray(content) && content.every(isContentPart)
}

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

function textResult(text: string, isError = false): ToolResult {
  return result([{ type: 'text', text }], isError)
}

function result(content: readonly ContentPart[], isError: boolean, value?: Json): ToolResult {
  const whole = deepFreeze({
    content: content.length > 0 ? content : [{ type: 'text' as const, text: nothing }],
    isError,
    ...(value !== undefined && { value }),
  })
  made.add(whole)
  return whole
}

function stringify(json: Json): string {
  try {
    return JSON.stringify(json)
  } catch {
    // Longer than a string can be.
    return '[left out: too large]'
  }
}

const fields = new Set(['content', 'isError', 'value', 'structuredContent', '_meta'])

// Only what is nothing but a result: a tool's own data may have a field named `content`.
function wrapped(json: Json): ToolResult | undefined {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return undefined
  const { content, isError, value, structuredContent } = json as JsonObject
  if (!Array.isArray(content) || Object.keys(json).some((key) => !fields.has(key))) return undefined
  if (content.length === 0 && isError === undefined && structuredContent === undefined) return undefined
  const parts = content.length === 0 ? [] : partsOf(content)
  return parts && result(parts, isError === true, value ?? structuredContent)
}

function partsOf(list: readonly Json[]): ContentPart[] | undefined {
  const parts = list.map(partOf)
  return parts.length > 0 && parts.every((part) => part !== undefined) ? parts : undefined
}

// Our parts as they are; MCP's image, audio, embedded resource and resource link as ours.
function partOf(part: Json): ContentPart | undefined {
  if (isContentPart(part)) return part
  if (typeof part !== 'object' || part === null || Array.isArray(part)) return undefined
  const { type, data, mimeType, resource, uri, name } = part as JsonObject
  if (type === 'resource_link' && typeof uri === 'string')
    return { type: 'text', text: typeof name === 'string' ? `${name}: ${uri}` : uri }
  if (type === 'resource' && typeof resource === 'object') return resourceOf(resource as JsonObject)
  if ((type !== 'image' && type !== 'audio') || typeof data !== 'string' || typeof mimeType !== 'string') return undefined
  return { type: type === 'image' ? 'image' : 'file', mediaType: mimeType, data }
}

function resourceOf({ text, blob, mimeType, uri }: JsonObject): ContentPart | undefined {
  if (typeof text === 'string') return { type: 'text', text }
  if (typeof blob !== 'string') return undefined
  const mediaType = typeof mimeType === 'string' ? mimeType : 'application/octet-stream'
  return { type: 'file', mediaType, data: blob, ...(typeof uri === 'string' && { name: uri }) }
}

/** A smaller limit leaves no room for the notice. */
const minChars = 100

/**
 * The result with at most `maxChars` UTF-16 characters of text, over all its text parts; limits below 100 count as 100. Of a longer
 * one the head and the tail stay, a notice between them names the original size, and `value` goes. No surrogate pair is cut.
 * Images and files are not counted. A result that fits comes back as it is.
 */
export function capResult(whole: ToolResult, maxChars: number): ToolResult {
  const total = whole.content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)
  const max = Math.max(Math.floor(maxChars), minChars)
  if (total <= max) return whole
  const notice = `\n[… ${total} characters in all; the middle is left out …]\n`
  const room = max - notice.length
  const headEnd = Math.ceil(room / 2)
  const tailStart = total - Math.floor(room / 2)
  const content: ContentPart[] = []
  let at = 0
  let noted = false
  for (const part of whole.content) {
    if (part.type !== 'text') {
      content.push(part)
      continue
    }
    const head = headOf(part.text, headEnd - at)
    const tail = tailOf(part.text, tailStart - at)
    at += part.text.length
    const cut = !noted && at > headEnd
    if (cut) noted = true
    const text = at <= headEnd ? part.text : head + (cut ? notice : '') + tail
    if (text) content.push(text === part.text ? part : { ...part, text })
  }
  return result(content, whole.isError)
}

function headOf(text: string, end: number): string {
  if (end <= 0) return ''
  return text.slice(0, splitsPair(text, end) ? end - 1 : end)
}

function tailOf(text: string, start: number): string {
  if (start <= 0) return text
  return text.slice(splitsPair(text, start) ? start + 1 : start)
}

function splitsPair(text: string, at: number): boolean {
  return /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1))
}
