import type { AssistantMessage, AssistantPart, Json, JsonObject } from '@koagent/core'
import type { ResponseInputItem } from 'openai/resources/responses/responses'
import { isObject, textIn } from '../values.ts'

/** Whom a conversation is sent to. */
export interface Recipient {
  readonly provider: string
  /** Whether it may take reasoning back. */
  readonly reasons: boolean
}

/** What goes back with a text (its message's id and phase) or a call, apart from what the part itself holds. */
export function extrasOf({ id, phase, namespace, caller }: Record<string, unknown>): JsonObject | undefined {
  const extras = { id, phase, namespace, caller }
  const set = Object.entries(extras).filter(([, value]) => value !== undefined && value !== null)
  return set.length > 0 ? (Object.fromEntries(set) as JsonObject) : undefined
}

/**
 * The items that an assistant message came as, in order.
 *
 * The API refuses reasoning without the item that followed it, and an item whose id belongs to reasoning without that reasoning
 * (vercel/ai#7099, openai/openai-agents-python#722). So the ids go back with the reasoning, all of them, or none does: without ids
 * nothing is looked up.
 */
export function assistantItems({ content, provider }: AssistantMessage, to: Recipient): ResponseInputItem[] {
  const own = provider === to.provider
  const sent: AssistantPart[] = []
  let isFollowed = false
  for (const part of content.toReversed()) {
    const goes = isSent(part, own, to)
    if (part.type !== 'reasoning' || isOther(part)) isFollowed = goes
    if (goes && isFollowed) sent.unshift(part)
  }
  const thoughts = sent.filter(isReasoning).length
  const ids =
    thoughts > 0 && thoughts === content.filter(isReasoning).length && sent.every((part) => textIn(dataOf(part)['id']) !== '')
  return sent.map((part) => itemOf(part, own ? dataOf(part) : {}, ids)).filter(isItem)
}

function isSent(part: AssistantPart, own: boolean, to: Recipient): boolean {
  if (part.type === 'text') return part.text !== ''
  if (part.type === 'tool_call') return true
  const { type, encrypted_content: encrypted, content } = dataOf(part)
  if (!own || textIn(type) === '') return false
  // The API looks it up by its id, although nothing is stored (rikkahub/rikkahub#1198, anomalyco/opencode#41123).
  if (type === 'image_generation_call') return false
  // Models whose weights are open show their reasoning instead of encrypting it.
  return type !== 'reasoning' || (to.reasons && (textIn(encrypted) !== '' || (Array.isArray(content) && content.length > 0)))
}

function isReasoning(part: AssistantPart): boolean {
  return part.type === 'reasoning' && dataOf(part)['type'] === 'reasoning'
}

/** An item that only its provider knows, in the place of reasoning. */
function isOther(part: AssistantPart): boolean {
  return part.type === 'reasoning' && !isReasoning(part) && textIn(dataOf(part)['type']) !== ''
}

function itemOf(part: AssistantPart, data: Record<string, unknown>, ids: boolean): object {
  if (isOther(part)) return withoutNulls(data)
  const { id, ...rest } = part.type === 'reasoning' ? data : (extrasOf(data) ?? {})
  const known = { ...(ids && { id }), ...rest }
  switch (part.type) {
    case 'reasoning':
      return withoutNulls({ ...known, status: null })
    case 'tool_call': {
      // An object always, also where the model's own text was none: a server that parses it would fail the whole request.
      const args = JSON.stringify(part.args)
      return { type: 'function_call', ...known, call_id: part.callId, name: part.toolName, arguments: args }
    }
    default: {
      if (!ids) return { role: 'assistant', content: part.text, ...known }
      const content = [{ type: 'output_text', text: part.text, annotations: [] }]
      return { type: 'message', ...known, role: 'assistant', status: 'completed', content }
    }
  }
}

/** Some APIs put null into their output, and who made an item, and refuse both in their input. */
function withoutNulls(item: object): object {
  return Object.fromEntries(Object.entries(item).filter(([field, value]) => value !== null && field !== 'created_by'))
}

function dataOf({ providerData }: { readonly providerData?: Json }): Record<string, unknown> {
  return isObject(providerData) ? providerData : {}
}

function isItem(item: object): item is ResponseInputItem {
  return 'type' in item || 'role' in item
}
