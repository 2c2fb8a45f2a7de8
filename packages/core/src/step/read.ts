import { messageOf, ModelError, setOrigin, toError } from '../errors.ts'
import type { ToolCallPart } from '../message.ts'
import type { Model, ModelPart, Usage } from '../model.ts'
import type { WorkSignal } from '../signal.ts'
import type { Assembler } from './assemble.ts'

/** Where the pieces of an answer go while it is read. */
export interface Deltas {
  text(text: string): void | Promise<void>
  reasoning(text: string, blockId: string | undefined): void | Promise<void>
  args(callId: string, toolName: string, delta: string): void | Promise<void>
  call(call: ToolCallPart): void | Promise<void>
}

/**
 * Reads parts into an assembler until they end, or until the signal aborts: then at once, whatever the model does, and what it still sends
 * is dropped.
 */
export async function read(
  parts: AsyncIterable<ModelPart>,
  into: Assembler,
  deltas: Deltas,
  work: WorkSignal,
  model: Model,
): Promise<void> {
  const iterator = parts[Symbol.asyncIterator]()
  let open = true
  let done = false
  const pump = async (): Promise<void> => {
    for (let next = await iterator.next(); open; next = await iterator.next()) {
      if (next.done) return void (done = true)
      const held = take(next.value, into, deltas, model)
      if (held) await held
      if (!open) return
    }
  }
  try {
    await work.wait(pump())
  } finally {
    open = false
    // Not awaited: an iterator that hangs in next() answers return() only after that.
    if (!done) void close(iterator)
  }
}

async function close(iterator: AsyncIterator<ModelPart>): Promise<void> {
  try {
    await iterator.return?.()
  } catch {
    // How an answer that nobody wants any more ends is nobody's business.
  }
}

/** What a part of each type must have; for parts of a type that is not listed there is nothing to do. */
const shapes: { readonly [type: string]: (part: Record<string, unknown>) => boolean } = {
  text_delta: ({ text }) => typeof text === 'string',
  reasoning_delta: ({ text, blockId }) => typeof text === 'string' && isOptional(blockId, 'string'),
  reasoning_end: ({ blockId }) => isOptional(blockId, 'string'),
  tool_call_delta: ({ callId, toolName, delta }) => [callId, toolName, delta].every((field) => typeof field === 'string'),
  tool_call: ({ callId, toolName, args }) =>
    isOptional(callId, 'string') &&
    typeof toolName === 'string' &&
    (typeof args === 'string' || isOptional(args ?? undefined, 'object')),
  usage: ({ usage }) => isUsage(usage),
  finish: ({ reason }) => typeof reason === 'string',
}

function isOptional(value: unknown, type: 'string' | 'object'): boolean {
  return value === undefined || typeof value === type
}

function isUsage(usage: unknown): boolean {
  if (typeof usage !== 'object' || usage === null) return false
  const { inputTokens, outputTokens } = usage as Partial<Usage>
  return Number.isFinite(inputTokens) && Number.isFinite(outputTokens)
}

function take(part: ModelPart, into: Assembler, deltas: Deltas, model: Model): void | Promise<void> {
  if (typeof part !== 'object' || part === null || typeof part.type !== 'string') throw garbage(part, model)
  if (Object.hasOwn(shapes, part.type) && !shapes[part.type]?.({ ...part })) throw garbage(part, model)
  switch (part.type) {
    case 'text_delta':
      if (part.text === '') return
      into.text(part.text)
      return deltas.text(part.text)
    case 'reasoning_delta':
      into.reasoning(part.text, part.blockId)
      return part.text === '' ? undefined : deltas.reasoning(part.text, part.blockId)
    case 'reasoning_end':
      return into.reasoningEnd(part.blockId, part.providerData)
    case 'tool_call_delta':
      return deltas.args(into.announce(part.callId), part.toolName, part.delta)
    case 'tool_call':
      return deltas.call(into.call(part))
    case 'usage':
      into.usage = part.usage
      return
    case 'finish':
      return into.finish(part)
    default:
  }
}

function garbage(part: unknown, { provider, id }: Model): ModelError {
  const message = `model '${provider}/${id}' sent a part that is not of the Model contract: ${messageOf(part)}`
  return new ModelError(message, { code: 'model_garbage', retryable: true, provider })
}

/** A model's failure as an Error that says which model it was. */
export function modelFailure(thrown: unknown, model: Model): Error {
  const error = toError(thrown, `model '${model.provider}/${model.id}'`)
  setOrigin(error, { model: `${model.provider}/${model.id}` })
  return error
}
