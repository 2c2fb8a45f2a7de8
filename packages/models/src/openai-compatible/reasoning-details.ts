import type { Json, JsonObject } from '@koagent/core'
import { isObject, textIn } from '../values.ts'

// Those that come in pieces, and the field that holds the text. Encrypted ones come whole.
const textFields = new Map<unknown, string>([
  ['reasoning.text', 'text'],
  ['reasoning.summary', 'summary'],
])

/**
 * Adds `reasoning_details`, as OpenRouter and MiniMax send them, to those that came before, and gives the text that is new. A detail comes in pieces of one
 * index, its signature last; it must go back whole, or the signature does not fit (agno-agi/agno#8794). All else stays as it came, in order.
 */
export function addDetails(details: JsonObject[], more: unknown): string {
  let text = ''
  for (const piece of Array.isArray(more) ? more : []) {
    if (!isObject(piece)) continue
    const field = textFields.get(piece['type'])
    text += field ? textIn(piece[field]) : ''
    const at = field
      ? details.findLastIndex((detail, index) => continues(piece, detail, field, index === details.length - 1))
      : -1
    if (field && at !== -1) details[at] = joined(details[at] ?? {}, piece, field)
    else details.push(piece as JsonObject)
  }
  return text
}

function continues(piece: Record<string, unknown>, detail: JsonObject, field: string, isLast: boolean): boolean {
  if (piece['type'] !== detail['type'] || piece['index'] !== detail['index']) return false
  if (!isLast && piece['index'] === undefined) return false
  if (isGiven(piece['id']) && isGiven(detail['id']) && piece['id'] !== detail['id']) return false
  return !(isGiven(detail['signature']) && textIn(piece[field]))
}

function joined(detail: JsonObject, piece: Record<string, unknown>, field: string): JsonObject {
  const given = Object.entries(piece).filter((entry): entry is [string, Json] => isGiven(entry[1]))
  return { ...detail, ...Object.fromEntries(given), [field]: textIn(detail[field]) + textIn(piece[field]) }
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== ''
}
