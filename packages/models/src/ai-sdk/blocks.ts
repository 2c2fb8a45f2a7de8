import type { Json, ModelPart } from '@koagent/core'

type Kind = 'text' | 'reasoning'

/** Puts blocks that may run side by side into one order. */
export interface Blocks {
  begin(kind: Kind, id: string, metadata: Json | undefined): ModelPart[]
  /** A piece of a block; one that was not begun begins here. */
  delta(kind: Kind, id: string, text: string, metadata: Json | undefined): ModelPart[]
  /** The end of a block. The last metadata that came with it is its own. */
  end(kind: Kind, id: string, metadata: Json | undefined): ModelPart[]
  /** What is whole and has its place among the blocks, such as a call. */
  place(part: ModelPart): ModelPart[]
  /** Ends what is still open. */
  endAll(): ModelPart[]
}

interface Block {
  readonly kind: Kind | 'whole'
  readonly id: string
  /** What has not gone out. */
  held: ModelPart[]
  open: boolean
  hasText: boolean
  metadata: Json | undefined
}

/**
 * Contract: the first block goes out as it comes; what begins later is held until all that began earlier has ended. So no two blocks mix, nothing is
 * lost, and blocks need no ids. A block of text ends with a `text_end` where it has metadata or the next block is text, too.
 */
export function orderedBlocks(): Blocks {
  const queue: Block[] = []
  /** Is the last that went out text whose end was not said? */
  let unended = false

  function ready(): ModelPart[] {
    const parts: ModelPart[] = []
    for (let first = queue[0]; first; first = queue[0]) {
      if (first.held.length > 0) {
        if (unended && first.kind === 'text') parts.push({ type: 'text_end' })
        unended = false
        parts.push(...first.held)
        first.held = []
      }
      if (first.open) break
      unended ||= first.kind === 'text' && first.hasText && first.metadata === undefined
      queue.shift()
    }
    return parts
  }

  function blockOf(kind: Kind, id: string, metadata: Json | undefined): Block {
    let block = find(kind, id)
    if (!block) queue.push((block = { kind, id, held: [], open: true, hasText: false, metadata }))
    block.metadata = metadata ?? block.metadata
    return block
  }

  function find(kind: Kind, id: string): Block | undefined {
    return queue.find((block) => block.open && block.kind === kind && block.id === id)
  }

  function close(block: Block): void {
    const { kind, hasText, metadata } = block
    block.open = false
    const data = metadata !== undefined && { providerData: metadata }
    if (kind === 'text' && data) block.held.push({ type: 'text_end', ...data })
    if (kind === 'reasoning' && (hasText || data)) block.held.push({ type: 'reasoning_end', ...data })
  }

  return {
    begin(kind, id, metadata) {
      blockOf(kind, id, metadata)
      return []
    },

    delta(kind, id, text, metadata) {
      const block = blockOf(kind, id, metadata)
      if (!text) return []
      block.hasText = true
      block.held.push({ type: `${kind}_delta`, text })
      return ready()
    },

    end(kind, id, metadata) {
      if (metadata === undefined && !find(kind, id)) return []
      close(blockOf(kind, id, metadata))
      return ready()
    },

    place(part) {
      queue.push({ kind: 'whole', id: '', held: [part], open: false, hasText: false, metadata: undefined })
      return ready()
    },

    endAll() {
      for (const block of queue) if (block.open) close(block)
      return ready()
    },
  }
}
