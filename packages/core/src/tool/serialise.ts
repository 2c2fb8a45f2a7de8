import { deepFreeze } from '../freeze.ts'
import type { Json } from '../json.ts'
import { newMark } from '../mark.ts'
import type { ContentPart, ToolResult } from '../message.ts'
import { isContentPart, isToolResult } from '../session/shape.ts'
import { toJson } from './json.ts'

export { isToolResult, toJson }

/** Stands in a result that would be empty: providers refuse empty text. */
const nothing = '(no output)'

/** Results made here: a second pass gives back the same object. */
const made = newMark<true>()

/**
 * The result of a tool that returned `value`, frozen. It never throws.
 *
 * - A string is the text. Where there is none, as for `undefined`, the text is `(no output)`.
 * - A `ToolResult` and a list of content parts keep their parts, but for empty text.
 * - Anything else is its JSON as text, and as `value`.
 */
export function toResult(value: unknown): ToolResult {
  if (typeof value === 'string' || value === undefined) return textResult(value)
  if (typeof value === 'object' && value !== null && made.get(value)) return value as ToolResult
  const json: unknown = toJson(value)
  if (typeof json === 'string') return textResult(json)
  if (isToolResult(json)) return partsResult(json.content, json.isError, json.value)
  if (Array.isArray(json) && json.length > 0 && json.every(isContentPart)) return partsResult(json)
  return textResult(JSON.stringify(json), false, json as Json)
}

/** A result that tells the model what went wrong. */
export function errorResult(text: string): ToolResult {
  return textResult(text || 'error', true)
}

function textResult(text: string | undefined, isError?: boolean, value?: Json): ToolResult {
  return result(Object.freeze([Object.freeze({ type: 'text', text: text || nothing })]), isError, value)
}

function partsResult(parts: readonly ContentPart[], isError?: boolean, value?: Json): ToolResult {
  const full = parts.filter((part) => part.type !== 'text' || part.text)
  return full.length > 0 ? result(deepFreeze(full), isError, value) : textResult(nothing, isError, value)
}

/** @param content frozen */
function result(content: readonly ContentPart[], isError = false, value?: Json): ToolResult {
  const whole: ToolResult = value === undefined ? { content, isError } : { content, isError, value: deepFreeze(value) }
  made.set(whole, true)
  return Object.freeze(whole)
}

function lengthOf(part: ContentPart | undefined): number {
  return part?.type === 'text' ? part.text.length : 0
}

/** A smaller limit leaves no room for the notice. */
const minChars = 100

/**
 * The result with at most `maxChars` UTF-16 characters of text, over all its text parts; limits below 100 count as 100. Of a longer
 * one the head and the tail stay, a notice between them names the original size, and `value` goes. No surrogate pair is cut.
 * Images and files are not counted. A result that fits comes back as it is.
 */
export function capResult(whole: ToolResult, maxChars: number): ToolResult {
  const { content: parts } = whole
  let total = 0
  // By index: an iterator over a frozen array is several times slower.
  for (let i = 0; i < parts.length; i++) total += lengthOf(parts[i])
  const max = Math.max(maxChars, minChars)
  if (total <= max) return whole
  const notice = `\n[… ${total} characters in all; the middle is left out …]\n`
  const tailLength = Math.floor((max - notice.length) / 2)
  /** Where head and tail begin and end, counted from the start of the part at hand. */
  let headEnd = max - notice.length - tailLength
  let tailStart = total - tailLength
  const content = parts.map((part) => {
    if (part.type !== 'text') return part
    const { length } = part.text
    const head = part.text.slice(0, Math.max(0, headEnd)).replace(/[\ud800-\udbff]$/, '')
    const tail = part.text.slice(Math.max(0, tailStart)).replace(/^[\udc00-\udfff]/, '')
    const text = head + (headEnd >= 0 && headEnd < length ? notice : '') + tail
    headEnd -= length
    tailStart -= length
    return { ...part, text }
  })
  return partsResult(content, whole.isError)
}
