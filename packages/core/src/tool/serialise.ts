import { deepFreeze } from '../freeze.ts'
import type { Json, JsonObject } from '../json.ts'
import type { ContentPart, ToolResult } from '../message.ts'
import { isContentPart, partsOf } from './content.ts'
import { toJson } from './json.ts'

export { toJson } from './json.ts'

/** Stands in a result that would be empty: providers refuse empty text. */
const nothing = '(no output)'

/** Results made here: a second pass gives back the same object. */
const made = new WeakSet<ToolResult>()

/**
 * The result of a tool that returned `value`, frozen. It never throws.
 *
 * - A string is the text. Where there is none, as for `undefined`, the text is `(no output)`.
 * - A `ToolResult`, a list of content parts and a result as MCP has it keep their parts, but for empty text.
 * - Anything else is its JSON as text, and as `value`.
 */
export function toResult(value: unknown): ToolResult {
  if (made.has(value as ToolResult)) return value as ToolResult
  if (value === undefined) return textResult(nothing)
  if (typeof value === 'string') return textResult(value)
  const json = toJson(value)
  if (typeof json === 'string') return textResult(json)
  const parts = Array.isArray(json) ? partsOf(json) : undefined
  if (parts) return result(parts, false)
  return wrapped(json) ?? result([{ type: 'text', text: stringify(json) }], false, json)
}

/** A layer's result, as `toResult` makes them: plain, never empty, nothing but a result. One that was made here comes back as it is. */
export function plainResult(given: ToolResult): ToolResult {
  if (made.has(given)) return given
  const { content, isError, value } = given
  return toResult({ content, isError, value })
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

function textResult(text: string, isError = false): ToolResult {
  return result([{ type: 'text', text }], isError)
}

function result(parts: readonly ContentPart[], isError: boolean, value?: Json): ToolResult {
  const full = parts.filter((part) => part.type !== 'text' || part.text)
  const content = full.length > 0 ? full : [{ type: 'text' as const, text: nothing }]
  for (const part of content) Object.freeze(part)
  const whole = Object.freeze({
    content: Object.freeze(content),
    isError,
    ...(value !== undefined && { value: deepFreeze(value) }),
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
