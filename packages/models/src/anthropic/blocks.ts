import type { Json, JsonObject, ModelError, ModelPart } from '@koagent/core'
import { isObject, jsonIn, textIn } from '../values.ts'

/** A content block that is being streamed. */
export interface Block {
  /** May another one begin before it ends? A call's pieces carry its id, all others are told apart by their order only. */
  readonly overlaps: boolean
  /** The parts of a delta, or of what the block began with. */
  push(fields: JsonObject): ModelPart[]
  /** Its last parts, with what has to go back. */
  end(): ModelPart[]
}

/** The block that begins with `start`. What the provider wants back of it is the rest of its fields, or all of one that is of no other use. */
export function blockOf(start: JsonObject, fail: (what: string) => ModelError): Block {
  if (start['type'] === 'text') return textBlock(start)
  if (start['type'] === 'thinking') return thinkingBlock(start)
  if (start['type'] === 'tool_use') return toolUseBlock(start, fail)
  return opaqueBlock(start)
}

function textBlock(start: JsonObject): Block {
  const { type: _, text: __, ...rest } = start
  let citations: Json | undefined = rest['citations']
  let begun = false
  return {
    overlaps: false,
    push({ text: piece, citation }) {
      if (citation !== undefined) citations = [...(Array.isArray(citations) ? citations : []), citation]
      const text = textIn(piece)
      if (!text) return []
      begun = true
      return [{ type: 'text_delta', text }]
    },
    end() {
      const providerData = citations === undefined ? rest : { ...rest, citations }
      return begun ? [{ type: 'text_end', ...(hasFields(providerData) && { providerData }) }] : []
    },
  }
}

function thinkingBlock(start: JsonObject): Block {
  const { type: _, thinking: __, ...rest } = start
  let signature = ''
  let begun = false
  return {
    overlaps: false,
    push({ thinking, signature: signed }) {
      signature = textIn(signed) || signature
      const text = textIn(thinking)
      if (!text) return []
      begun = true
      return [{ type: 'reasoning_delta', text }]
    },
    end() {
      if (signature) return [{ type: 'reasoning_end', providerData: { ...rest, signature } }]
      return begun ? [{ type: 'reasoning_end' }] : []
    },
  }
}

function toolUseBlock(start: JsonObject, fail: (what: string) => ModelError): Block {
  const { type: _, id, name, input, ...rest } = start
  const callId = textIn(id)
  const toolName = textIn(name)
  let args = ''
  return {
    overlaps: true,
    push({ partial_json: piece }) {
      const delta = textIn(piece)
      args += delta
      return delta && toolName ? [{ type: 'tool_call_delta', callId, toolName, delta }] : []
    },
    end() {
      if (!toolName) throw fail(`sent a tool call without a name, with the arguments ${args.slice(0, 200)}`)
      // Sent at once instead of in pieces, as for the calls of a program in the provider's sandbox.
      if (!args.trim() && isObject(input) && hasFields(input)) args = JSON.stringify(input)
      return [{ type: 'tool_call', callId, toolName, args, ...(hasFields(rest) && { providerData: rest }) }]
    },
  }
}

/** Thinking that cannot be read, the provider's own tools and their results, and what is not known yet. */
function opaqueBlock(start: JsonObject): Block {
  let json = ''
  return {
    overlaps: false,
    push({ partial_json: piece }) {
      json += textIn(piece)
      return []
    },
    end() {
      const input = jsonIn(json)
      const block = input === undefined ? start : { ...start, input }
      return [
        { type: 'raw', value: block },
        { type: 'reasoning_end', providerData: block },
      ]
    },
  }
}

function hasFields(fields: object): boolean {
  return Object.keys(fields).length > 0
}
