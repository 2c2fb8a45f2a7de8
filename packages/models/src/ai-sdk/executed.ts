import type { Json, JsonObject, ModelPart } from '@koagent/core'
import { isObject, jsonIn, textIn } from '../values.ts'

/** The `providerMetadata` of a part as JSON of our own, or undefined where there is none. */
export function metadataOf(part: Record<string, unknown>): JsonObject | undefined {
  const metadata = part['providerMetadata']
  return isObject(metadata) && Object.keys(metadata).length > 0 ? jsonObject(metadata) : undefined
}

/**
 * What belongs to the provider alone, as opaque data that goes back in its place: a call that the provider executes, its result, content of a kind of its
 * own. Undefined for anything else, and for a result that is not final.
 */
export function executedPart(part: Record<string, unknown>): ModelPart | undefined {
  const own = promptPart(part)
  if (!own) return undefined
  const metadata = metadataOf(part)
  const providerData = jsonObject({ ...own, ...(metadata && { providerOptions: metadata }) })
  // An id of its own keeps it apart from reasoning that ended without data.
  return providerData && { type: 'reasoning_end', blockId: `${own.type}:${textIn(part['toolCallId'])}`, providerData }
}

interface PromptPart {
  readonly type: string
  readonly [field: string]: unknown
}

function promptPart({ type, toolCallId, toolName, ...part }: Record<string, unknown>): PromptPart | undefined {
  switch (type) {
    case 'tool-call':
      return { type, toolCallId, toolName, input: inputOf(part['input']), providerExecuted: true }
    case 'tool-result': {
      if (part['preliminary'] === true) return undefined
      const output = { type: part['isError'] === true ? 'error-json' : 'json', value: part['result'] ?? null }
      return { type, toolCallId, toolName, output }
    }
    case 'custom':
      return { type, kind: part['kind'] }
    default:
      return undefined
  }
}

/** Opaque data that {@link executedPart} made. Metadata is told from it by its fields, which are objects all. */
export function isExecuted(providerData: Json | undefined): providerData is JsonObject {
  return isObject(providerData) && typeof providerData['type'] === 'string'
}

function inputOf(input: unknown): unknown {
  return typeof input === 'string' ? (jsonIn(input) ?? input) : input
}

/** A copy: what becomes part of a message is frozen, and the provider's package may still use its own. */
function jsonObject(value: object): JsonObject | undefined {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value))
    return isJsonObject(copy) ? copy : undefined
  } catch {
    return undefined
  }
}

function isJsonObject(value: unknown): value is JsonObject {
  return isObject(value)
}
