import { messageOf } from '../errors.ts'
import { isObject } from '../json.ts'
import type { LLMStep, ModelPart } from '../model.ts'
import type { WorkSignal } from '../signal.ts'
import type { Assembler } from './assemble.ts'
import { mishap } from './author.ts'
import type { Author } from './author.ts'
import type { Output } from './output.ts'

/**
 * Reads parts into an assembler until they end, or until the signal aborts: then at once, whatever the model does, and what it still sends
 * is dropped.
 */
export function read(
  parts: AsyncIterable<ModelPart>,
  into: Assembler,
  output: Output,
  work: WorkSignal,
  author: Author,
): Promise<LLMStep> {
  const iterator = parts[Symbol.asyncIterator]()
  let open = true
  const stop = (): void => {
    if (!open) return
    open = false
    // Not awaited: an iterator that hangs in next() answers return() only after that.
    void close(iterator)
  }
  const pump = async (): Promise<LLMStep> => {
    try {
      for (let next = await iterator.next(); open && !next.done; next = await iterator.next()) {
        const held = take(next.value, into, output, author)
        if (held) await held
        if (!open) break
      }
    } catch (error) {
      stop()
      throw error
    }
    return into.step(author)
  }
  return work.wait(pump(), stop)
}

/** Ends an answer early. How it takes that is nobody's business. */
export async function close(iterator: AsyncIterator<ModelPart>): Promise<void> {
  try {
    await iterator.return?.()
  } catch {
    // Nobody wants it any more.
  }
}

/** What a part of each type must have; for parts of a type that is not listed there is nothing to do. */
const shapes: ReadonlyMap<string, (part: { readonly [field: string]: unknown }) => boolean> = new Map([
  ['text_delta', ({ text }) => isText(text)],
  ['reasoning_delta', ({ text, blockId = '' }) => isText(text) && isText(blockId)],
  ['reasoning_end', ({ blockId = '' }) => isText(blockId)],
  ['tool_call_delta', ({ callId, toolName, delta }) => isText(callId) && isText(toolName) && isText(delta)],
  [
    'tool_call',
    ({ callId = '', toolName, args }) => isText(callId) && isText(toolName) && (isText(args ?? '') || typeof args === 'object'),
  ],
  ['usage', ({ usage }) => isObject(usage) && Number.isFinite(usage['inputTokens']) && Number.isFinite(usage['outputTokens'])],
  ['finish', ({ reason }) => isText(reason)],
])

function isText(field: unknown): boolean {
  return typeof field === 'string'
}

function isPart(part: unknown): part is ModelPart {
  return isObject(part) && typeof part['type'] === 'string' && shapes.get(part['type'])?.(part) !== false
}

function take(part: unknown, into: Assembler, output: Output, author: Author): void | Promise<void> {
  if (!isPart(part)) throw mishap(author, `sent a part that is no ModelPart: ${messageOf(part)}`, 'model_garbage')
  switch (part.type) {
    case 'text_delta':
      if (part.text === '') return
      into.text(part.text)
      return output.text(part.text)
    case 'text_end':
      return into.textEnd(part.providerData)
    case 'reasoning_delta':
      into.reasoning(part.text, part.blockId)
      return part.text === '' ? undefined : output.reasoning(part.text, part.blockId)
    case 'reasoning_end':
      return into.reasoningEnd(part.blockId, part.providerData)
    case 'tool_call_delta':
      return output.args(into.announce(part.callId), into.toolName(part.toolName), part.delta)
    case 'tool_call':
      return output.call(into.call(part))
    case 'usage':
      into.usage = part.usage
      return
    case 'finish':
      return into.finish(part)
    default:
  }
}
