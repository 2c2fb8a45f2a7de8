import { describe, expect, test } from 'vitest'
import { deny, replace_result, retry, stop } from '@koagent/core'
import type { Middleware, Point } from '@koagent/core'
import { scripted } from '../scripted.ts'
import { ask, busy } from '../testing/ask.ts'
import { modes } from '../testing/kit.ts'
import { layer } from '../testing/stage.ts'

const question = { messages: [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'is this fine?' }] }] }
const usage = { inputTokens: 1, outputTokens: 2 }

/** A layer that asks a model before each turn, and writes down what it got. */
const asking = (model: ReturnType<typeof scripted>, got: unknown[], point: Point = 'before_turn'): Middleware =>
  layer('asking', point, async (ctx, next) => {
    try {
      got.push((await ctx.callModel({ ...question, model })).message.content)
    } catch (error) {
      got.push(error)
    }
    return next()
  })

describe('ctx.callModel', () => {
  const points = [
    'before_run',
    'around_run',
    'before_turn',
    'around_llm_step',
    'after_llm_step',
    'before_tool',
    'after_turn',
    'on_stop',
    'after_run',
  ] as const

  test.for(points.flatMap((point) => modes.map((mode) => [point, mode] as const)))(
    'at %s asks a model, counts its usage and puts one custom event into the stream (%s)',
    async ([point, mode]) => {
      const got: unknown[] = []
      const side = scripted(Array.from({ length: 4 }, () => ({ text: 'yes', usage })))
      const { result, events, messages } = await ask(
        mode,
        [
          { toolCalls: [{ name: 'work' }], usage },
          { text: 'done', usage },
        ],
        [asking(side, got, point)],
      )
      expect(result).toMatchObject({ status: 'completed', text: 'done' })
      expect(got).toEqual(got.map(() => [{ type: 'text', text: 'yes' }]))
      expect(got.length).toBeGreaterThan(0)
      expect(side.calls[0]).toMatchObject({ messages: question.messages, tools: [] })
      // What is asked when the result is made already comes too late for it.
      const counted = point === 'after_run' ? 0 : got.length
      expect(result?.usage).toEqual({ inputTokens: 2 + counted, outputTokens: 4 + 2 * counted })
      const custom = events.filter((event) => event.type === 'custom')
      expect(custom).toHaveLength(got.length)
      expect(custom[0]).toMatchObject({ name: 'model_call', middleware: 'asking', data: { usage, finishReason: 'stop' } })
      expect(events.filter((event) => event.type === 'text_delta').map(({ text }) => text)).toEqual(['done'])
      expect(JSON.stringify(messages)).not.toContain('is this fine?')
    },
  )

  test.for(modes)('uses the model of the run where none is given (%s)', async (mode) => {
    const { model, result } = await ask(mode, [{ text: 'from the helper' }, { text: 'answer' }], {
      before_turn: async (ctx, next) => (await ctx.callModel(question), next()),
    })
    expect(result?.text).toBe('answer')
    expect(model.calls[0]?.messages).toEqual(question.messages)
  })

  test.for(modes)('runs the llm_step layers, those that are asking excepted (%s)', async (mode) => {
    const trace: string[] = []
    const asksIn = (name: string): Middleware =>
      layer(name, ['before_llm_step', 'around_llm_step', 'after_llm_step'], async (ctx, next) => {
        trace.push(`${name} ${ctx['purpose'] as string} ${ctx.point}`)
        if (ctx.point === 'around_llm_step') await ctx.callModel(question)
        return next()
      })
    const { result } = await ask(
      mode,
      Array.from({ length: 5 }, (_, i) => ({ text: `${i}` })),
      [asksIn('a'), asksIn('b')],
    )
    // Both ask for the step, and each has the other ask for its question.
    expect(result?.text).toBe('4')
    expect(trace.filter((entry) => entry.endsWith('around_llm_step'))).toEqual([
      'a step around_llm_step',
      'b helper around_llm_step',
      'b step around_llm_step',
      'a helper around_llm_step',
    ])
    expect(trace.filter((entry) => entry.includes('helper before'))).toHaveLength(2)
  })

  const refusals: [string, Omit<Middleware, 'name'>][] = [
    ['denied', { before_llm_step: (ctx, next) => (ctx.purpose === 'helper' ? deny('not for you') : next()) }],
    ['stopped', { after_llm_step: (ctx, next) => (ctx.purpose === 'helper' ? stop('not for you') : next()) }],
  ]
  test.for(refusals.flatMap((row) => modes.map((mode) => [...row, mode] as const)))(
    'that is %s rejects alone, and the run goes on ($2)',
    async ([, hooks, mode]) => {
      const got: unknown[] = []
      const { result } = await ask(
        mode,
        [{ text: 'answer' }],
        [{ name: 'refuses', ...hooks }, asking(scripted([{ text: 'x' }]), got)],
      )
      expect(got).toMatchObject([{ code: 'helper_denied', message: expect.stringContaining('not for you') }])
      expect(result).toMatchObject({ status: 'completed', text: 'answer' })
    },
  )

  test.for(modes)('may be answered by a layer, and tried again (%s)', async (mode) => {
    const got: unknown[] = []
    const side = scripted([{ error: busy() }, { text: 'second' }])
    const { events } = await ask(
      mode,
      [{ text: 'answer' }],
      [
        { name: 'again', on_error: () => retry() },
        {
          name: 'answers',
          before_llm_step: (ctx, next) =>
            ctx.purpose === 'helper' && ctx.session.messages.length > 5 ? replace_result('x') : next(),
        },
        asking(side, got),
      ],
    )
    expect(got).toEqual([[{ type: 'text', text: 'second' }]])
    expect(events.some(({ type }) => type === 'retry' || type === 'step_reset')).toBe(false)
  })

  test.for(modes)('that fails is what the layer makes of it (%s)', async (mode) => {
    const got: unknown[] = []
    const boom = new Error('boom')
    const { result } = await ask(mode, [{ text: 'answer' }], [asking(scripted([{ error: boom }]), got)])
    expect(got).toEqual([boom])
    expect(result?.text).toBe('answer')
  })

  test.for(modes)('never executes a tool call (%s)', async (mode) => {
    const got: unknown[] = []
    const { events } = await ask(mode, [{ text: 'answer' }], [asking(scripted([{ toolCalls: [{ name: 'work' }] }]), got)])
    expect(got).toMatchObject([[{ type: 'tool_call', toolName: 'work' }]])
    expect(events.some(({ type }) => type === 'tool_call_begin')).toBe(false)
  })

  test.for(modes)('refuses a bad request (%s)', async (mode) => {
    const got: unknown[] = []
    await ask(mode, [{ text: 'answer' }], {
      before_turn: async (ctx, next) => (
        got.push(await ctx.callModel({ messages: [] }).catch((error: unknown) => error)),
        next()
      ),
    })
    expect(got).toMatchObject([{ code: 'bad_request' }])
  })

  test.for(modes)('names its operations by position, in whatever order calls side by side ask (%s)', async (mode) => {
    const opsIn = async (first: string): Promise<readonly unknown[]> => {
      const side = scripted(Array.from({ length: 4 }, () => ({ text: 'x' })))
      let release: (() => void) | undefined
      const gate = new Promise<void>((resolve) => (release = resolve))
      const { events } = await ask(
        mode,
        [
          {
            toolCalls: [
              { name: 'work', id: 'a' },
              { name: 'work', id: 'b' },
            ],
          },
          { text: 'done' },
        ],
        {
          around_tool: async (ctx, next) => {
            if (ctx.toolCall.callId !== first) await gate
            await ctx.callModel({ ...question, model: side })
            await ctx.callModel({ ...question, model: side })
            release?.()
            return next()
          },
        },
      )
      return events.flatMap((event) => (event.type === 'custom' ? [(event.data as { op: string }).op] : [])).toSorted()
    }
    expect(await opsIn('a')).toEqual(['help:tool:0:0:m:0', 'help:tool:0:0:m:1', 'help:tool:0:1:m:0', 'help:tool:0:1:m:1'])
    expect(await opsIn('b')).toEqual(await opsIn('a'))
  })
})
