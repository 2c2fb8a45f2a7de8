import type { ModelPart } from '@koagent/core'
import { argsOf, hear } from './hear.ts'
import { must, mustEqual } from './must.ts'
import { using } from './subject.ts'
import type { Check } from './subject.ts'

const add = (n: number) => ({ name: 'add', args: { n } })
const calls = (...names: readonly string[]) => names.map((callId) => ({ callId, toolName: 'add' }))

export type AnswerCheckName =
  | 'text comes in deltas'
  | 'reasoning comes before the text, in deltas'
  | 'a call without arguments'
  | 'a call with arguments'
  | 'parallel calls stay apart'
  | 'text beside calls'
  | 'one finish, and it is last'
  | 'finish reasons'
  | 'usage counts all tokens'
  | 'usage tells cached and reasoning tokens'

/** What a model makes of the answers that it gets. */
export const answerChecks: Readonly<Record<AnswerCheckName, Check>> = {
  'text comes in deltas': (start) =>
    using(start, [{ text: 'One two three four.' }], async ({ model }) => {
      const { text, texts } = await hear(model)
      mustEqual(text, 'One two three four.', 'the joined text')
      must(texts.length > 1, 'the text must come in several deltas, as the provider sent it, and comes in one')
      must(!texts.includes(''), 'a delta must not be empty')
    }),

  'reasoning comes before the text, in deltas': (start) =>
    using(start, [{ reasoning: 'Let me see.', text: 'It is 3.' }], async ({ model }) => {
      const { parts, text } = await hear(model)
      const deltas = parts.flatMap((part) => (part.type === 'reasoning_delta' ? [part.text] : []))
      mustEqual(deltas.join(''), 'Let me see.', 'the joined reasoning')
      mustEqual(text, 'It is 3.', 'the joined text')
      must(deltas.length > 1, 'the reasoning must come in several deltas, as the provider sent it, and comes in one')
      const last = parts.findLastIndex(({ type }) => type === 'reasoning_delta')
      const first = parts.findIndex(({ type }) => type === 'text_delta')
      must(last < first, 'the reasoning must come before the text that the provider sent after it')
    }),

  'a call without arguments': (start) =>
    using(start, [{ toolCalls: [{ name: 'now' }] }], async ({ model }) => {
      const { calls } = await hear(model)
      mustEqual(
        calls.map(({ toolName, args }) => [toolName, args]),
        [['now', {}]],
        'the call',
      )
    }),

  'a call with arguments': (start) =>
    using(start, [{ toolCalls: [{ name: 'save', args: { text: 'a "b" \\ é\n', deep: [{ n: 1 }] } }] }], async ({ model }) => {
      const { calls } = await hear(model)
      const args = { text: 'a "b" \\ é\n', deep: [{ n: 1 }] }
      mustEqual(
        calls.map((call) => [call.toolName, call.args]),
        [['save', args]],
        'the call',
      )
    }),

  'parallel calls stay apart': (start) => {
    const [a, b] = calls('call_a', 'call_b') as [ReturnType<typeof calls>[0], ReturnType<typeof calls>[0]]
    const parts: readonly ModelPart[] = [
      { type: 'tool_call_delta', ...a, delta: '{"n"' },
      { type: 'tool_call_delta', ...b, delta: '{"n"' },
      { type: 'tool_call_delta', ...a, delta: ':1}' },
      { type: 'tool_call', ...a, args: '{"n":1}' },
      { type: 'tool_call_delta', ...b, delta: ':2}' },
      { type: 'tool_call', ...b, args: '{"n":2}' },
      { type: 'finish', reason: 'tool_calls' },
    ]
    return using(start, [{ parts }], async ({ model }) => {
      const answer = await hear(model)
      mustEqual(
        answer.calls.map(({ args }) => args),
        [{ n: 1 }, { n: 2 }],
        'the arguments of the calls, in order',
      )
      const ids = answer.calls.map(({ callId }) => callId).filter(Boolean)
      must(new Set(ids).size === ids.length, `each call must have an id of its own, and both have '${ids[0]}'`)
      for (const { callId, args } of answer.calls) {
        const deltas = answer.parts.flatMap((part) =>
          part.type === 'tool_call_delta' && part.callId === callId ? [part.delta] : [],
        )
        if (deltas.length > 0) mustEqual(argsOf(deltas.join('')), args, `the joined deltas of the call '${callId}'`)
      }
    })
  },

  'text beside calls': (start) =>
    using(start, [{ text: 'I add.', toolCalls: [add(1), add(2)] }], async ({ model }) => {
      const { text, calls, reason } = await hear(model)
      mustEqual([text, calls.map(({ args }) => args)], ['I add.', [{ n: 1 }, { n: 2 }]], 'the text and the calls')
      mustEqual(reason, 'tool_calls', 'the finish reason')
    }),

  'one finish, and it is last': async (start) => {
    const steps = [{ text: 'One.' }, { text: 'I add.', toolCalls: [add(1)], usage: { inputTokens: 2, outputTokens: 1 } }]
    await using(start, steps, async ({ model }) => {
      for (const _ of steps) {
        const types = (await hear(model)).parts.map(({ type }) => type)
        mustEqual(types.filter((type) => type === 'finish').length, 1, 'the number of finishes')
        mustEqual(types.at(-1), 'finish', 'the last part')
      }
    })
  },

  'finish reasons': (start) =>
    using(start, [{ text: 'One.' }, { toolCalls: [add(1)] }, { text: 'One two', finishReason: 'length' }], async ({ model }) => {
      for (const reason of ['stop', 'tool_calls', 'length']) {
        mustEqual((await hear(model)).reason, reason, 'the finish reason')
      }
    }),

  'usage counts all tokens': (start) => {
    const usage = { inputTokens: 20, outputTokens: 9, cachedInputTokens: 8, cacheWriteTokens: 4, reasoningTokens: 3 }
    return using(start, [{ text: 'One.', usage }], async ({ model }) => {
      const told = (await hear(model)).usage
      must(told !== undefined, 'the answer must tell its usage')
      mustEqual(told.inputTokens, 20, 'inputTokens, with those that the cache served and took')
      mustEqual(told.outputTokens, 9, 'outputTokens, with those of reasoning')
    })
  },

  'usage tells cached and reasoning tokens': (start) => {
    const usage = { inputTokens: 20, outputTokens: 9, cachedInputTokens: 8, reasoningTokens: 3 }
    return using(start, [{ text: 'One.', usage }], async ({ model }) => {
      const told = (await hear(model)).usage
      mustEqual(told?.cachedInputTokens, 8, 'cachedInputTokens')
      mustEqual(told?.reasoningTokens, 3, 'reasoningTokens')
    })
  },
}
