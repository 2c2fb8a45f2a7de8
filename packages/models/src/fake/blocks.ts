import type { Json, ModelPart } from '@koagent/core'
import { isObject, textIn } from '../values.ts'

/** One block of an answer, as protocols with blocks have them. */
export interface Block {
  /** Its place in the answer. */
  readonly index: number
  readonly kind: 'text' | 'reasoning' | 'tool_call'
  /** Of a call; never empty. */
  readonly callId: string
  readonly toolName: string
  /** So far: of a call the JSON of its arguments. */
  text: string
  /** What the client has to send back with reasoning. Known at its end. */
  opaque: string
  readonly blockId: string | undefined
}

export type BlockEvent =
  | { readonly type: 'begin'; readonly block: Block }
  | { readonly type: 'delta'; readonly block: Block; readonly text: string }
  | { readonly type: 'end'; readonly block: Block }

/** Puts the parts of an answer into blocks. Text and reasoning follow one another; calls may be open at the same time. */
export interface BlockReader {
  push(part: ModelPart): BlockEvent[]
  /** Ends what is open. */
  end(): BlockEvent[]
  readonly blocks: readonly Block[]
}

/** A reader for one answer. `id` makes the ids that the parts leave out. */
export function blockReader(id: string): BlockReader {
  const blocks: Block[] = []
  const calls = new Map<string, Block>()
  let prose: Block | undefined

  function begin(kind: Block['kind'], events: BlockEvent[], names: Partial<Block> = {}): Block {
    const index = blocks.length
    const block: Block = { callId: '', toolName: '', blockId: undefined, ...names, index, kind, text: '', opaque: '' }
    blocks.push(block)
    events.push({ type: 'begin', block })
    return block
  }

  function add(block: Block, text: string, events: BlockEvent[]): void {
    block.text += text
    if (text) events.push({ type: 'delta', block, text })
  }

  function endProse(events: BlockEvent[]): void {
    if (prose) events.push({ type: 'end', block: prose })
    prose = undefined
  }

  /** The open block of text or reasoning, or a new one. */
  function proseOf(kind: Block['kind'], blockId: string | undefined, events: BlockEvent[]): Block {
    if (prose?.kind === kind && prose.blockId === blockId) return prose
    endProse(events)
    return (prose = begin(kind, events, { blockId }))
  }

  function callOf(callId: string, toolName: string, events: BlockEvent[]): Block {
    const key = callId || toolName
    let call = calls.get(key)
    if (!call) {
      endProse(events)
      call = begin('tool_call', events, { callId: callId || `${id}-call-${blocks.length}`, toolName })
      calls.set(key, call)
    }
    return call
  }

  function read(part: ModelPart, events: BlockEvent[]): void {
    switch (part.type) {
      case 'text_delta':
        return add(proseOf('text', undefined, events), part.text, events)
      case 'text_end':
        return prose?.kind === 'text' ? endProse(events) : undefined
      case 'reasoning_delta':
        return add(proseOf('reasoning', part.blockId, events), part.text, events)
      case 'reasoning_end': {
        const block = prose?.kind === 'reasoning' ? prose : proseOf('reasoning', part.blockId, events)
        block.opaque = opaqueOf(part.providerData) || `opaque-${id}-${block.index}`
        return endProse(events)
      }
      case 'tool_call_delta':
        return add(callOf(part.callId, part.toolName, events), part.delta, events)
      case 'tool_call': {
        const call = callOf(part.callId, part.toolName, events)
        const json = typeof part.args === 'string' ? part.args : JSON.stringify(part.args)
        if (json.startsWith(call.text)) add(call, json.slice(call.text.length), events)
        events.push({ type: 'end', block: call })
        calls.delete(part.callId || part.toolName)
        return
      }
      default:
    }
  }

  return {
    blocks,
    push(part) {
      const events: BlockEvent[] = []
      read(part, events)
      return events
    },
    end() {
      const events: BlockEvent[] = []
      endProse(events)
      for (const block of calls.values()) events.push({ type: 'end', block })
      calls.clear()
      return events
    },
  }
}

/** Opaque data is a string, or in the form of one of the protocols. */
function opaqueOf(data: Json | undefined): string {
  if (!isObject(data)) return textIn(data)
  return textIn(data['signature']) || textIn(data['encrypted_content'])
}
