import type { ModelPart } from '@koagent/core'
import type { Cleaner } from './cleaner.ts'

type Delta = Extract<ModelPart, { type: 'text_delta' | 'reasoning_delta' | 'tool_call_delta' }>

/** Deltas that make one text. */
interface Block {
  readonly deltas: Delta[]
  readonly clean: (text: string) => string
}

/**
 * The parts of an answer, cleaned. A secret may come in several deltas, so these are judged by the text that they make: where cleaning changes it, the
 * first of them holds all of it, and the others are left out. So are the raw parts of such an answer.
 */
export function cleanAnswer(parts: readonly ModelPart[], cleaner: Cleaner): unknown[] {
  const becomes = new Map<ModelPart, string | undefined>()
  let isClean = true
  for (const { deltas, clean } of blocksOf(parts, cleaner)) {
    const text = deltas.map(textOf).join('')
    const cleaned = clean(text)
    const isSame = cleaned === text
    isClean &&= isSame
    for (const [index, delta] of deltas.entries()) {
      const whole = index === 0 ? cleaned : undefined
      becomes.set(delta, isSame ? textOf(delta) : whole)
    }
  }
  return parts.flatMap((part) => {
    // The pieces are in there, too.
    if (part.type === 'raw' && !isClean) return []
    if (!becomes.has(part)) return [cleaner.part(part)]
    const text = becomes.get(part)
    if (text === undefined) return []
    return [{ ...part, [part.type === 'tool_call_delta' ? 'delta' : 'text']: text }]
  })
}

function textOf(delta: Delta): string {
  return delta.type === 'tool_call_delta' ? delta.delta : delta.text
}

/** The blocks that core makes of them, too: the next request holds their texts, and must come out the same. Where in doubt, a block goes on. */
function blocksOf(parts: readonly ModelPart[], { text, args }: Cleaner): Block[] {
  const blocks: Block[] = []
  const calls = new Map<string, Block>()
  let open: Block | undefined
  const begin = (clean: Block['clean']): Block => {
    const block = { deltas: [], clean }
    blocks.push(block)
    return block
  }

  for (const part of parts) {
    switch (part.type) {
      case 'text_delta':
      case 'reasoning_delta':
        if (part.type === 'text_delta' && part.text === '') break
        if (!goesOn(open, part)) open = begin(text)
        open?.deltas.push(part)
        break
      case 'tool_call_delta': {
        const call = calls.get(part.callId) ?? begin(args)
        calls.set(part.callId, call)
        call.deltas.push(part)
        break
      }
      case 'text_end':
      case 'reasoning_end':
        if (isEnded(open, part)) open = undefined
        break
      case 'tool_call':
        calls.delete(part.callId)
        open = undefined
        break
      default:
    }
  }
  return blocks
}

function goesOn(block: Block | undefined, part: Delta): boolean {
  const first = block?.deltas[0]
  if (first?.type !== part.type) return false
  return first.type !== 'reasoning_delta' || part.type !== 'reasoning_delta' || first.blockId === part.blockId
}

function isEnded(block: Block | undefined, end: Extract<ModelPart, { type: 'text_end' | 'reasoning_end' }>): boolean {
  const first = block?.deltas[0]
  if (end.type === 'text_end') return first?.type === 'text_delta'
  return first?.type === 'reasoning_delta' && (end.blockId ?? first.blockId) === first.blockId
}
