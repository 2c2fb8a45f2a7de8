import type { FinishReason, ModelPart, Usage } from '@koagent/core'
import { ending } from '../call/ending.ts'
import type { AnswerReader } from '../call/read.ts'
import type { Failures } from '../model-error/failure.ts'
import { isObject, textIn } from '../values.ts'
import { Output } from './output.ts'
import { usageOf } from './usage.ts'

/** What streams by deltas: the type of the item, the field that counts its parts, and the one that holds a part as a whole. */
const streamed = new Map([
  ['response.output_text', { item: 'message', part: 'content_index', whole: 'text' }],
  ['response.refusal', { item: 'message', part: 'content_index', whole: 'refusal' }],
  ['response.reasoning_summary_text', { item: 'reasoning', part: 'summary_index', whole: 'text' }],
  ['response.reasoning_text', { item: 'reasoning', part: 'content_index', whole: 'text' }],
  ['response.function_call_arguments', { item: 'function_call', part: 'content_index', whole: 'arguments' }],
])

const last = /^response\.(completed|incomplete|failed|cancelled|done)$/

const reasons = new Map<string, FinishReason>([
  ['completed', 'stop'],
  ['max_output_tokens', 'length'],
  ['content_filter', 'content_filter'],
])

/** A reader for the events of one response. */
export function responsesReader(failed: Failures, headers: Headers): AnswerReader {
  const output = new Output((what) => failed.garbage(what, headers))
  let usage: Usage | undefined
  let rawReason = ''
  let hasText = false
  let hasCalls = false

  function* take(): Generator<ModelPart> {
    for (const part of output.take()) {
      hasText ||= part.type === 'text_delta'
      hasCalls ||= part.type === 'tool_call'
      yield part
    }
  }

  function end(response: Record<string, unknown>, status: string): void {
    if (status === 'failed') {
      throw failed.frame(JSON.stringify({ error: response['error'] ?? 'the response failed, without a word' }), headers)
    }
    const details = response['incomplete_details']
    rawReason = (isObject(details) && textIn(details['reason'])) || status
    output.endAll(response['output'])
  }

  return {
    get complete() {
      return rawReason !== ''
    },
    get done() {
      return rawReason !== ''
    },

    push(event) {
      const type = textIn(event['type'])
      // A server that does not stream answers with the response itself.
      const isResponse = event['object'] === 'response'
      const response = isResponse ? event : isObject(event['response']) ? event['response'] : {}
      usage = usageOf(response['usage']) ?? usage
      const [, status] = last.exec(type) ?? []
      if (status !== undefined || isResponse) {
        end(response, status && status !== 'done' ? status : textIn(response['status']) || 'completed')
      } else if (type === 'response.output_item.added') {
        output.add(event['item'], event['output_index'])
      } else if (type === 'response.output_item.done') {
        output.end(event['item'], event['output_index'])
      } else {
        const [, name = '', stage] = /^(.*)\.(delta|done)$/.exec(type) ?? []
        const stream = streamed.get(name)
        if (stream) {
          const part = `${name} ${String(event[stream.part] ?? 0)}`
          const item = output.itemFor(stream.item, event)
          if (stage === 'delta') item.say(part, textIn(event['delta']))
          else item.sayWhole(part, textIn(event[stream.whole]))
        }
      }
      return [...take()]
    },

    end() {
      output.endAll(undefined)
      const parts = [...take()]
      const reason = rawReason ? (reasons.get(rawReason) ?? 'other') : undefined
      return [...parts, ...ending({ usage, reason, rawReason, hasText, hasCalls })]
    },
  }
}
