import { describe, expect, test } from 'vitest'
import { Agent, memorySession, ModelError, originOf } from '@koagent/core'
import type { Model, ModelPart } from '@koagent/core'
import { ask, work } from '../testing/ask.ts'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import { silent } from '../testing/stage.ts'

const text: ModelPart = { type: 'text_delta', text: 'so far' }
const finish: ModelPart = { type: 'finish', reason: 'stop' }
const call = (callId: string): ModelPart => ({ type: 'tool_call', callId, toolName: 'work', args: '{}' })

describe('a stream that is no answer', () => {
  const broken: [string, readonly unknown[], string][] = [
    ['ends before its finish', [text], 'model_stream_cut'],
    ['ends at once', [], 'model_stream_cut'],
    [
      'leaves a call unfinished',
      [{ type: 'tool_call_delta', callId: 'c', toolName: 'work', delta: '{' }, finish],
      'model_stream_cut',
    ],
    ['is empty and ends for a filter', [{ type: 'finish', reason: 'content_filter' }], 'model_empty'],
    ['is empty and ends for its length', [{ type: 'finish', reason: 'length' }], 'model_empty'],
    ['is empty and ends with an error', [{ type: 'finish', reason: 'error' }], 'model_empty'],
    [
      'ends with an error after text',
      [
        { type: 'text_delta', text: 'Tea is' },
        { type: 'finish', reason: 'error' },
      ],
      'model_error',
    ],
    [
      'is blank and ends for its length',
      [
        { type: 'reasoning_delta', text: '' },
        { type: 'finish', reason: 'length' },
      ],
      'model_empty',
    ],
    ...[
      null,
      undefined,
      42,
      'text',
      [],
      {},
      { type: 7 },
      { type: 'text_delta' },
      { type: 'text_delta', text: null },
      { type: 'reasoning_delta', text: 1 },
      { type: 'reasoning_delta', text: 'x', blockId: 1 },
      { type: 'tool_call_delta', callId: 'c', toolName: 'work' },
      { type: 'tool_call', callId: 5, toolName: 'work', args: '{}' },
      { type: 'tool_call', callId: 'c', args: '{}' },
      { type: 'tool_call', callId: 'c', toolName: 'work', args: 5n },
      { type: 'usage' },
      { type: 'usage', usage: { inputTokens: 'many', outputTokens: 1 } },
      { type: 'usage', usage: { inputTokens: NaN, outputTokens: 1 } },
      { type: 'finish' },
    ].map((part, i): [string, readonly unknown[], string] => [
      `has garbage ${i + 1}: ${String(typeof part === 'object' ? Object.values(part ?? [part]) : part)}`,
      [text, part, finish],
      'model_garbage',
    ]),
  ]

  test.for(broken.flatMap((row) => modes.map((mode) => [...row, mode] as const)))(
    'because it %s is a retryable failure of the model ($3)',
    async ([, parts, code, mode]) => {
      const { error, result, messages } = await ask(mode, [{ parts: parts as ModelPart[] }], {})
      expect(result).toBeUndefined()
      expect(error).toBeInstanceOf(ModelError)
      expect(error).toMatchObject({ code, retryable: true, provider: 'scripted' })
      expect(originOf(error)).toEqual({ model: 'scripted/scripted' })
      expect(messages.every(({ role }) => role === 'user' || role === 'assistant')).toBe(true)
    },
  )

  test.for(modes)('though empty is fine where it ends well (%s)', async (mode) => {
    const { result } = await ask(mode, [{}], {})
    expect(result).toMatchObject({ status: 'completed', text: '' })
  })

  test.for(modes)('has parts that core does not know, and they pass unused (%s)', async (mode) => {
    const { result } = await ask(mode, [{ parts: [{ type: 'raw', value: 1 }, { type: 'news' } as never, text, finish] }], {})
    expect(result?.text).toBe('so far')
  })
})

describe('how a step ended', () => {
  test.for(modes)('does not matter where there are calls: they run (%s)', async (mode) => {
    const { result, events } = await ask(mode, [{ parts: [call('c'), finish] }, { text: 'done' }], {})
    expect(result?.text).toBe('done')
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool_result', status: 'ok' }))
  })

  test.for(modes)('at its length limit has its calls answered, not executed (%s)', async (mode) => {
    const { events, messages } = await ask(
      mode,
      [{ parts: [call('c'), { type: 'finish', reason: 'length' }] }, { text: 'done' }],
      {},
    )
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool_result', status: 'error', isError: true }))
    expect(messages[2]).toMatchObject({ content: [{ isError: true, content: [{ text: expect.stringContaining('cut off') }] }] })
  })

  test.for(modes)('in a failure keeps whole parts and answers whole calls (%s)', async (mode) => {
    const boom = new Error('boom')
    const parts: ModelPart[] = [
      { type: 'reasoning_delta', text: 'unsigned' },
      text,
      call('whole'),
      { type: 'tool_call_delta', callId: 'half', toolName: 'work', delta: '{' },
    ]
    const { error, messages } = await ask(mode, [{ parts, error: boom }], {})
    expect(error).toBe(boom)
    expect(messages.slice(1)).toMatchObject([
      { role: 'assistant', content: [{ text: 'so far' }, { callId: 'whole' }] },
      { role: 'tool', content: [{ callId: 'whole', isError: true }] },
    ])
    expect(messages[1]?.content).toHaveLength(2)
  })
})

describe('a model', () => {
  const model = (stream: Model['stream']): Model => ({ provider: 'p', id: 'm', stream })

  test.for(modes)('that throws when it is called fails as one that throws later (%s)', async (mode) => {
    const boom = new Error('boom')
    const agent = new Agent({
      model: model(() => {
        throw boom
      }),
    })
    const outcome = await execute(mode, agent)
    expect(outcome.error).toBe(boom)
    expectWhole(outcome)
  })

  test.for(modes)('is closed where its stream is left early (%s)', async (mode) => {
    const closed: string[] = []
    const agent = new Agent({
      model: model(async function* () {
        try {
          yield text
          yield { type: 'text_delta' } as never
          yield text
        } finally {
          closed.push('closed')
        }
      }),
      logger: silent,
    })
    const outcome = await execute(mode, agent)
    expect(outcome.error).toMatchObject({ code: 'model_garbage' })
    expect(closed).toEqual(['closed'])
  })

  test.for(modes)('may throw what is no Error (%s)', async (mode) => {
    const outcome = await execute(
      mode,
      new Agent({
        // oxlint-disable-next-line require-yield
        model: model(async function* () {
          throw 'a string'
        }),
      }),
    )
    expect(outcome.error).toMatchObject({ code: 'thrown_value', cause: 'a string' })
  })

  test.for(modes)('is asked with a signal that outlives no call (%s)', async (mode) => {
    const signals: AbortSignal[] = []
    const session = memorySession()
    const agent = new Agent({
      tools: [work],
      model: model(async function* (_, options) {
        signals.push(options.signal)
        yield signals.length === 1 ? call('') : text
        yield finish
      }),
    })
    const outcome = await execute(mode, agent, 'go', { session })
    expect(outcome.result?.status).toBe('completed')
    expect(new Set(signals).size).toBe(2)
    expect(signals.some(({ aborted }) => aborted)).toBe(false)
  })
})
