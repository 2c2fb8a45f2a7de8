import { deepFreeze } from '../freeze.ts'
import type { Json } from '../json.ts'
import type { ContentPart, ToolResult } from '../message.ts'
import { isContentPart, isToolResult } from '../session/shape.ts'
import { toJson } from './json.ts'

export { isToolResult, toJson }

/** Stands in a result that would be empty: providers refuse empty text. */
const nothing = '(no output)'

/** Results made here: a second pass gives back the same object. */
const made = new WeakSet<object>()

/**
 * The result of a tool that returned `value`, frozen. It never throws.
 *
 * - A string is the text. Where there is none, as for `undefined`, the text is `(no output)`.
 * - A `ToolResult` and a list of content parts keep their parts, but for empty text.
 * - Anything else is its JSON as text, and as `value`.
 */
export function toResult(value: unknown): ToolResult {
  if (made.has(value as ToolResult)) return value as ToolResult
  if (value === undefined) return textResult('')
  const json: unknown = typeof value === 'string' ? value : toJson(value)
  if (typeof json === 'string') return textResult(json)
  if (isToolResult(json)) return result(json.content, json.isError, json.value)
  if (Array.isArray(json) && json.length > 0 && json.every(isContentPart)) return result(json)
  return result([{ type: 'text', text: JSON.stringify(json) }], false, json as Json)
}

/** A result that tells the model what went wrong. */
export function errorResult(text: string): ToolResult {
  return textResult(text || 'error', true)
}

function textResult(text: string, isError?: boolean): ToolResult {
  return result([{ type: 'text', text }], isError)
}

function result(parts: readonly ContentPart[], isError = false, value?: Json): ToolResult {
  const full = parts.filter((part) => part.type !== 'text' || part.text)
  const content: readonly ContentPart[] = full.length > 0 ? full : [{ type: 'text', text: nothing }]
  for (const part of content) Object.freeze(part)
  const whole = { content: Object.freeze(content), isError, ...(value !== undefined && { value: deepFreeze(value) }) }
  Object.freeze(whole)
  made.add(whole)
  return whole
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
  const max = Math.max(maxChars, minChars)
  if (total <= max) return whole
  const notice = `\n[… ${total} characters in all; the middle is left out …]\n`
  const tailLength = Math.floor((max - notice.length) / 2)
  /** Where head and tail begin and end, counted from the start of the part at hand. */
  let headEnd = max - notice.length - tailLength
  let tailStart = total - tailLength
  const content = whole.content.map((part) => {
    if (part.type !== 'text') return part
    const { length } = part.text
    const head = part.text.slice(0, Math.max(0, headEnd)).replace(/[\ud800-\udbff]$/, '')
    const tail = part.text.slice(Math.max(0, tailStart)).replace(/^[\udc00-\udfff]/, '')
    const text = head + (headEnd >= 0 && headEnd < length ? notice : '') + tail
    headEnd -= length
    tailStart -= length
    return { ...part, text }
  })
  return result(content, whole.isError)
}
