import type { JsonObject, ModelPart } from '@koagent/core'
import { isObject, textIn } from '../values.ts'
import { addDetails } from './reasoning-details.ts'

/** Where reasoning text comes in. Some servers send the same text in two of them: the first counts. */
const fields = ['reasoning_content', 'reasoning', 'reasoning_text'] as const

/** Puts the reasoning of one answer into blocks, each with what its provider wants back: `{ field }`, and its details where it has any. */
export interface ReasoningReader {
  /** The reasoning of one delta, if it holds any. */
  push(delta: Record<string, unknown>): ModelPart[]
  /** Text of a list of content that is thinking, as Mistral sends it. */
  think(text: string): ModelPart[]
  /** Ends the block, before anything else comes. */
  end(): ModelPart[]
  /** What must go back beside calls of an answer without reasoning: a field that was there and empty. DeepSeek refuses calls without it. */
  owed(): ModelPart[]
}

export function reasoningReader(): ReasoningReader {
  /** The field that the open block came in. */
  let open = ''
  let details: JsonObject[] = []
  let isOwed: boolean | undefined

  function end(): ModelPart[] {
    if (!open) return []
    const providerData = details.length > 0 ? { field: 'reasoning_details', details } : { field: open }
    open = ''
    details = []
    return [{ type: 'reasoning_end', providerData }]
  }

  function add(field: string, text: string): ModelPart[] {
    // What has details goes back as these, whatever field its text came in.
    const parts = open !== field && details.length === 0 ? end() : []
    open = field
    isOwed = false
    return text ? [...parts, { type: 'reasoning_delta', text }] : parts
  }

  return {
    push(delta) {
      isOwed ??= delta['reasoning_content'] === '' || undefined
      const field = fields.find((name) => textIn(delta[name]))
      const parts = field ? add(field, textIn(delta[field])) : []
      const before = details.length
      const text = addDetails(details, delta['reasoning_details'])
      // The text of the details counts where it stands nowhere else. Details alone hold a block open, too.
      return field || (!text && details.length === before) ? parts : add('reasoning_details', text)
    },
    think: (text) => (text ? add('thinking', text) : []),
    end,
    owed: () => (isOwed ? [{ type: 'reasoning_end', providerData: { field: 'reasoning_content' } }] : []),
  }
}

/** The text of a part of type thinking: a string, or a list of text parts. */
export function thinkingText(thinking: unknown): string {
  if (!Array.isArray(thinking)) return textIn(thinking)
  return thinking.map((part) => (isObject(part) ? textIn(part['text']) : textIn(part))).join('')
}
