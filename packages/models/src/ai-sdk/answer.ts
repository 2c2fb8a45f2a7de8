import type { FinishReason, ModelPart, Usage } from '@koagent/core'
import { ending } from '../call/ending.ts'
import type { AnswerReader } from '../call/read.ts'
import { isObject, textIn } from '../values.ts'
import { orderedBlocks } from './blocks.ts'
import { executedPart, metadataOf } from './executed.ts'
import type { StreamFailures } from './failure.ts'
import { usageOf } from './usage.ts'

const reasons = new Map<string, FinishReason>([
  ['stop', 'stop'],
  ['length', 'length'],
  ['content-filter', 'content_filter'],
  ['tool-calls', 'tool_calls'],
  ['error', 'error'],
])

/** A reader for the parts of one stream, of any version. */
export function answerReader(failed: StreamFailures, headers: Headers): AnswerReader {
  const blocks = orderedBlocks()
  /** The names of the calls whose arguments are being streamed. */
  const names = new Map<string, string>()
  let hasCalls = false
  let usage: Usage | undefined
  let reason: Reason | undefined
  let done = false

  function callParts(part: Record<string, unknown>): ModelPart[] {
    const [callId, toolName] = [textIn(part['toolCallId']), textIn(part['toolName'])]
    if (!toolName)
      throw failed.garbage(`sent a tool call without a name, with the arguments ${textIn(part['input']).slice(0, 200)}`, headers)
    const metadata = metadataOf(part)
    hasCalls = true
    return blocks.place({
      type: 'tool_call',
      callId,
      toolName,
      args: argsOf(part['input']),
      ...(metadata !== undefined && { providerData: metadata }),
    })
  }

  function deltaParts(callId: string, delta: string): ModelPart[] {
    const toolName = names.get(callId)
    return toolName && delta ? [{ type: 'tool_call_delta', callId, toolName, delta }] : []
  }

  return {
    get complete() {
      return reason !== undefined
    },
    get done() {
      return done
    },

    push(part) {
      const raw: ModelPart = { type: 'raw', value: part }
      const id = textIn(part['id'])
      switch (part['type']) {
        case 'text-start':
          // Providers built on @ai-sdk/openai-compatible 1.x end all blocks with the stream only: text would wait for the end of it.
          return [
            ...(id === 'txt-0' ? blocks.end('reasoning', 'reasoning-0', undefined) : []),
            ...blocks.begin('text', id, metadataOf(part)),
          ]
        case 'text-delta':
          return blocks.delta('text', id, textIn(part['delta']), metadataOf(part))
        case 'text-end':
          return blocks.end('text', id, metadataOf(part))
        case 'reasoning-start':
          return blocks.begin('reasoning', id, metadataOf(part))
        case 'reasoning-delta':
          return blocks.delta('reasoning', id, textIn(part['delta']), metadataOf(part))
        case 'reasoning-end':
          return blocks.end('reasoning', id, metadataOf(part))
        case 'tool-input-start':
          if (part['providerExecuted'] !== true) names.set(id, textIn(part['toolName']))
          return []
        case 'tool-input-delta':
          return deltaParts(id, textIn(part['delta']))
        case 'tool-input-end':
        case 'ping':
          return []
        case 'tool-call':
          if (part['providerExecuted'] !== true) return callParts(part)
          break
        case 'error':
          throw failed.streamed(part['error'], headers)
        case 'finish':
          done = true
          usage = usageOf(part['usage'])
          reason = reasonOf(part['finishReason'])
          return 'providerMetadata' in part ? [raw] : []
        default:
      }
      const executed = executedPart(part)
      return executed ? [raw, ...blocks.place(executed)] : [raw]
    },

    end() {
      const { unified = 'other', raw = '' } = reason ?? {}
      const said = reasons.get(unified) ?? 'other'
      return [...blocks.endAll(), ...ending({ usage, reason: said, rawReason: raw || unified, hasText: false, hasCalls })]
    },
  }
}

/** The arguments as text. */
function argsOf(input: unknown): string {
  return typeof input === 'string' ? input : (JSON.stringify(input) ?? '')
}

interface Reason {
  readonly unified: string
  /** The provider's own word. */
  readonly raw: string
}

/** Why it ended: a word in v2, and from v3 on with the provider's own. Undefined where no reason came, which is what a stream that broke off is given. */
function reasonOf(value: unknown): Reason | undefined {
  const unified = textIn(isObject(value) ? value['unified'] : value)
  const raw = isObject(value) ? textIn(value['raw']) : ''
  const none =
    unified === '' || unified === 'unknown' || unified === 'interrupted' || (isObject(value) && unified === 'other' && !raw)
  return none ? undefined : { unified, raw }
}
