import type { FinishReason, JsonObject, ModelError, ModelPart } from '@koagent/core'
import { ending } from '../call/ending.ts'
import type { AnswerReader } from '../call/read.ts'
import { countIn, isObject, textIn } from '../values.ts'
import { blockOf } from './blocks.ts'
import type { Block } from './blocks.ts'
import { mergedUsage, usageOf } from './usage.ts'

const reasons = new Map<string, FinishReason>([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['tool_use', 'tool_calls'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
])

interface OpenBlock extends Block {
  readonly index: number | undefined
}

/** A reader for the events of one message. */
export function messageReader(fail: (what: string) => ModelError): AnswerReader {
  /** In the order in which they began. */
  let open: OpenBlock[] = []
  let usage: Record<string, unknown> = {}
  let rawReason = ''
  let container = ''
  let done = false
  let hasText = false
  let hasCalls = false

  /** Ends those blocks that are to end, and forgets them. */
  function* end(ends: (block: OpenBlock) => boolean): Generator<ModelPart> {
    const ended = open.filter(ends)
    open = open.filter((block) => !ended.includes(block))
    for (const block of ended) yield* block.end()
  }

  function* begin(start: unknown, index: number | undefined): Generator<ModelPart> {
    if (!isJson(start)) return
    const block = blockOf(start, fail)
    // A server may forget to say that a block ended.
    yield* end(({ overlaps, index: other }) => !overlaps || !block.overlaps || other === index)
    open.push({ ...block, index })
    yield* block.push(start)
  }

  /** What the answer as a whole is said to be, at its beginning or later. */
  function learn(fields: JsonObject): void {
    usage = mergedUsage(usage, fields['usage'])
    rawReason = textIn(fields['stop_reason']) || rawReason
    if (isObject(fields['container'])) container = textIn(fields['container']['id']) || container
  }

  function* message(fields: unknown): Generator<ModelPart> {
    if (!isJson(fields)) return
    learn(fields)
    // Mostly there is none yet; but a server that does not stream, or has nothing to stream, sends it at once.
    for (const block of Array.isArray(fields['content']) ? fields['content'] : []) {
      yield* begin(block, undefined)
      yield* end(() => true)
    }
  }

  function* partsOf(event: Record<string, unknown>): Generator<ModelPart> {
    const index = countIn(event['index'])
    const delta = isJson(event['delta']) ? event['delta'] : {}
    switch (event['type']) {
      case 'message_start':
        return yield* message(event['message'])
      case 'message':
        done = true
        return yield* message(event)
      case 'content_block_start':
        return yield* begin(event['content_block'], index)
      case 'content_block_delta':
        return yield* (open.find((block) => block.index === index) ?? open.at(-1))?.push(delta) ?? []
      case 'content_block_stop':
        return yield* end((block) => block.index === index || (index === undefined && block === open.at(-1)))
      case 'message_delta':
        learn(delta)
        return learn({ usage: isJson(event['usage']) ? event['usage'] : null })
      case 'message_stop':
        done = true
    }
  }

  return {
    get complete() {
      return rawReason !== ''
    },

    get done() {
      return done
    },

    *push(event) {
      for (const part of partsOf(event)) {
        hasText ||= part.type === 'text_delta'
        hasCalls ||= part.type === 'tool_call'
        yield part
      }
    },

    *end() {
      for (const part of end(() => true)) {
        hasCalls ||= part.type === 'tool_call'
        yield part
      }
      yield* ending({
        usage: usageOf(usage),
        reason: rawReason ? (reasons.get(rawReason) ?? 'other') : undefined,
        rawReason,
        hasText,
        hasCalls,
        ...(container && { providerData: { container } }),
      })
    },
  }
}

/** What was read from JSON is JSON all the way down. */
function isJson(value: unknown): value is JsonObject {
  return isObject(value)
}
