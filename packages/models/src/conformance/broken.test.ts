import { ModelError } from '@koagent/core'
import type { Message, ModelPart } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { modelConformance } from './conformance.ts'
import type { ConformanceCheckName } from './conformance.ts'
import { asked, brokenModel, caught, deafIn, each, held, is, parts, refused, sending, stop } from './testing/breaking.ts'
import type { Break } from './testing/breaking.ts'
import { soundModel } from './testing/sound.ts'

interface Broken {
  /** What is wrong with it. */
  readonly name: string
  /** Made anew for each model, from the stream of a sound one. */
  readonly stream: Break
  readonly fails: readonly ConformanceCheckName[]
}

const afterRefusals: readonly ConformanceCheckName[] = [
  'a refusal is a ModelError that tells whether to retry',
  'a refusal tells how long to wait',
  'a failure in mid-stream is a ModelError',
  'a stream that is cut off is a ModelError',
]

const broken: readonly Broken[] = [
  {
    name: 'sends empty deltas',
    stream: each((part) => (is(part, 'text_delta') ? [part, { ...part, text: '' }] : [part])),
    fails: ['text comes in deltas'],
  },
  {
    name: 'sends text in one piece, at the end',
    stream: held(
      (part) => is(part, 'text_delta'),
      (finish, texts) => [
        { type: 'text_delta', text: texts.map((part) => (is(part, 'text_delta') ? part.text : '')).join('') },
        finish,
      ],
    ),
    fails: ['text comes in deltas', 'an abort in mid-stream', 'an abort between two parts', 'a consumer may leave early'],
  },
  {
    name: 'sends reasoning after the text',
    stream: held(
      (part) => is(part, 'reasoning_delta'),
      (finish, thoughts) => [...thoughts, finish],
    ),
    fails: ['reasoning comes before the text, in deltas'],
  },
  {
    name: "gives 'null' for no arguments",
    stream: each((part) => (is(part, 'tool_call') && part.args === '{}' ? [{ ...part, args: 'null' }] : [part])),
    fails: ['a call without arguments'],
  },
  {
    name: 'escapes arguments once more',
    stream: each((part) =>
      is(part, 'tool_call') && typeof part.args === 'string' ? [{ ...part, args: part.args.replace('\\n', '\\\\n') }] : [part],
    ),
    fails: ['a call with arguments'],
  },
  {
    name: 'mixes the deltas of parallel calls',
    stream: parts(
      () => ({ callId: '' }),
      (part, first) => {
        if (!is(part, 'tool_call_delta')) return [part]
        first.callId ||= part.callId
        return [{ ...part, callId: first.callId }]
      },
    ),
    fails: ['parallel calls stay apart'],
  },
  {
    name: 'gives all calls one id',
    stream: each((part) => (is(part, 'tool_call') || is(part, 'tool_call_delta') ? [{ ...part, callId: 'call' }] : [part])),
    fails: ['parallel calls stay apart'],
  },
  {
    name: "says 'stop' where there is text beside calls",
    stream: parts(
      () => ({ hasText: false }),
      (part, state) => {
        state.hasText ||= is(part, 'text_delta')
        return [
          is(part, 'finish') && state.hasText ? { ...part, reason: part.reason === 'tool_calls' ? 'stop' : part.reason } : part,
        ]
      },
    ),
    fails: ['text beside calls'],
  },
  {
    name: 'emits two finishes',
    stream: each((part) => (is(part, 'finish') ? [part, part] : [part])),
    fails: ['one finish, and it is last'],
  },
  {
    name: 'tells the usage after the finish',
    stream: held(
      (part) => is(part, 'usage'),
      (finish, usage) => [finish, ...usage],
    ),
    fails: ['one finish, and it is last'],
  },
  {
    name: 'forgets the finish of calls with a usage',
    stream: parts(
      () => new Set<string>(),
      (part, types) => {
        types.add(part.type)
        return is(part, 'finish') && types.has('usage') && types.has('tool_call') ? [] : [part]
      },
    ),
    fails: ['one finish, and it is last'],
  },
  {
    name: 'takes length for a stop',
    stream: each((part) => (is(part, 'finish') && part.reason === 'length' ? [stop] : [part])),
    fails: ['finish reasons'],
  },
  {
    name: 'leaves the cache out of the count',
    stream: each((part) =>
      is(part, 'usage')
        ? [{ ...part, usage: { ...part.usage, inputTokens: part.usage.inputTokens - (part.usage.cachedInputTokens ?? 0) } }]
        : [part],
    ),
    fails: ['usage counts all tokens'],
  },
  {
    name: 'tells no details of the usage',
    stream: each((part) =>
      is(part, 'usage')
        ? [{ ...part, usage: { inputTokens: part.usage.inputTokens, outputTokens: part.usage.outputTokens } }]
        : [part],
    ),
    fails: ['usage tells cached and reasoning tokens'],
  },
  { name: 'sends no tools', stream: asked((request) => ({ ...request, tools: [] })), fails: ['a request says what was asked'] },
  {
    name: 'forgets the results of tools',
    stream: sending((part) => (part.type === 'tool_result' ? undefined : part)),
    fails: ['a tool result goes back'],
  },
  {
    name: 'sends opaque data without the reasoning',
    stream: sending((part) => (part.type === 'reasoning' ? { ...part, text: '' } : part)),
    fails: ['reasoning goes back'],
  },
  {
    name: 'forgets opaque data',
    stream: each((part) => (is(part, 'reasoning_end') ? [{ type: 'reasoning_end' }] : [part])),
    fails: ['opaque data of reasoning goes back'],
  },
  {
    name: 'forgets reasoning',
    stream: sending((part) => (part.type === 'reasoning' ? undefined : part)),
    fails: ['reasoning goes back', 'opaque data of reasoning goes back'],
  },
  {
    name: 'keeps the state of a stream in the model',
    stream: (sound) => {
      let last: ModelPart
      return async function* stream(request, signal) {
        for await (const part of sound(request, signal)) {
          last = part
          await Promise.resolve()
          yield last
        }
      }
    },
    fails: ['two streams at the same time stay apart'],
  },
  {
    name: 'writes its defaults into the settings',
    stream: asked((request) => {
      if (request.settings) Object.assign(request.settings, { temperature: 0 })
      return request
    }),
    fails: ['the request is not changed'],
  },
  {
    name: 'changes a request that is not frozen',
    stream: asked((request) => {
      if (!Object.isFrozen(request.messages)) (request.messages as Message[]).push({ role: 'user', content: [] })
      return request
    }),
    fails: ['the request is not changed'],
  },
  {
    name: 'calls every failure retryable',
    stream: refused(({ message, status, retryAfterMs }) => new ModelError(message, { status, retryAfterMs, retryable: true })),
    fails: ['a refusal is a ModelError that tells whether to retry'],
  },
  {
    name: 'forgets how long to wait',
    stream: refused(({ message, status, retryable }) => new ModelError(message, { status, retryable })),
    fails: ['a refusal tells how long to wait'],
  },
  {
    name: 'throws what a frame of its stream says',
    stream: (sound) =>
      async function* stream(request, signal) {
        let begun = false
        try {
          for await (const part of sound(request, signal)) {
            begun = true
            yield part
          }
        } catch (error) {
          throw begun && error instanceof ModelError && error.status === 503 ? new Error(error.message) : error
        }
      },
    fails: ['a failure in mid-stream is a ModelError'],
  },
  {
    name: 'throws errors of another kind',
    stream: refused((error) => new TypeError('terminated', { cause: error })),
    fails: afterRefusals,
  },
  {
    name: 'ends well where it fails',
    stream: caught((error) => {
      if (error instanceof ModelError) return [stop]
      throw error
    }),
    fails: [...afterRefusals, 'a request is sent once'],
  },
  {
    name: 'ends well where the stream is cut off',
    stream: caught((error) => {
      if (error instanceof ModelError && error.code === 'model_stream_cut') return [stop]
      throw error
    }),
    fails: ['a stream that is cut off is a ModelError'],
  },
  {
    name: 'retries by itself',
    stream: (sound) =>
      async function* stream(request, signal) {
        try {
          yield* sound(request, signal)
        } catch (error) {
          if (signal.aborted) throw error
          yield* sound(request, signal)
        }
      },
    fails: ['a request is sent once'],
  },
  {
    name: 'looks at the signal only after it has sent',
    stream: (sound) =>
      async function* stream(request, signal) {
        if (!signal.aborted) return yield* sound(request, signal)
        for await (const _ of sound(request, new AbortController().signal)) signal.throwIfAborted()
      },
    fails: ['an abort before the start sends nothing'],
  },
  {
    name: 'looks at the signal only before it sends',
    stream: (sound) =>
      async function* stream(request, signal) {
        signal.throwIfAborted()
        yield* sound(request, new AbortController().signal)
      },
    fails: ['an abort while the answer is awaited', 'an abort in mid-stream', 'an abort between two parts'],
  },
  {
    name: 'throws an error of its own where it is aborted',
    stream: caught((error, signal) => {
      throw signal.aborted ? new Error('aborted', { cause: error }) : error
    }),
    fails: [
      'an abort before the start sends nothing',
      'an abort while the answer is awaited',
      'an abort in mid-stream',
      'an abort between two parts',
    ],
  },
  {
    name: 'ends well where it is aborted at the start',
    stream: deafIn('at the start'),
    fails: ['an abort before the start sends nothing'],
  },
  {
    name: 'ends well where it is aborted before the first part',
    stream: deafIn('before the first part'),
    fails: ['an abort while the answer is awaited'],
  },
  {
    name: 'ends well where it is aborted while it waits',
    stream: deafIn('while it waits'),
    fails: ['an abort in mid-stream'],
  },
  {
    name: 'ends well where it is aborted between two parts',
    stream: deafIn('between two parts'),
    fails: ['an abort between two parts'],
  },
  {
    name: 'leaves a listener behind',
    stream: (sound) => (request, signal) => {
      signal.addEventListener('abort', () => {})
      return sound(request, signal)
    },
    fails: ['no listener stays on the signal'],
  },
  {
    name: 'leaves a listener behind where it is left or fails',
    stream: (sound) =>
      async function* stream(request, signal) {
        const listener = (): void => {}
        signal.addEventListener('abort', listener, { once: true })
        yield* sound(request, signal)
        signal.removeEventListener('abort', listener)
      },
    fails: ['no listener stays on the signal'],
  },
  {
    name: 'goes on where it is left',
    stream: (sound) => (request, signal) => {
      const parts = sound(request, signal)[Symbol.asyncIterator]()
      return { [Symbol.asyncIterator]: () => ({ next: () => parts.next() }) }
    },
    fails: ['a consumer may leave early'],
  },
]

describe('a model that', () => {
  test.concurrent.for(broken)('$name is caught', async ({ stream, fails }, { expect }) => {
    const suite = modelConformance((steps) => brokenModel(stream, soundModel(steps)))
    const failed: Record<string, string> = {}
    await Promise.all(
      suite.map(({ name, check }) => check().catch((error: unknown) => void (failed[name] = (error as Error).message))),
    )
    expect(Object.keys(failed).toSorted(), JSON.stringify(failed, null, 2)).toEqual(fails.toSorted())
  })

  test('breaks one rule only is there for each rule', () => {
    const alone = new Set(broken.flatMap(({ fails }) => (fails.length === 1 ? fails : [])))
    const names = modelConformance(soundModel).map(({ name }) => name)
    expect(names.filter((name) => !alone.has(name as ConformanceCheckName))).toEqual([])
  })
})
