import { describe, expect, test, vi } from 'vitest'
import { Agent, defineTool, deny, memorySession, retry, RunCancelledError, RunController, stop, textOf } from '@koagent/core'
import type { Middleware, ModelPart } from '@koagent/core'
import { scripted } from '../scripted.ts'
import type { Script, ScriptedModel } from '../scripted.ts'
import { busy, stepOf, work } from '../testing/ask.ts'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import { answer, calling, later, lineOf, once, steer } from '../testing/steered.ts'
import type { Say } from '../testing/steered.ts'

const delta = (text: string): ModelPart => ({ type: 'text_delta', text })
const callPart = (callId: string): ModelPart => ({ type: 'tool_call', callId, toolName: 'work', args: '{}' })
const unfinished: ModelPart = { type: 'tool_call_delta', callId: 'c2', toolName: 'work', delta: '{"a' }
const signed: ModelPart[] = [
  { type: 'reasoning_delta', text: 'hm', blockId: 'r1' },
  { type: 'reasoning_end', blockId: 'r1', providerData: 'signature' },
]
const unsigned: ModelPart = { type: 'reasoning_delta', text: 'and', blockId: 'r2' }

/** A model that says so much, then waits for ever; afterwards it answers. */
function hanging(parts: readonly ModelPart[], reached: () => void): { model: ScriptedModel; aborted: boolean } {
  const inner = scripted([{ text: 'as you wish' }, { text: 'again' }])
  const state = { aborted: false, model: inner }
  let first = true
  state.model = {
    ...inner,
    stream(request, options) {
      if (!first) return inner.stream(request, options)
      first = false
      options.signal.addEventListener('abort', () => (state.aborted = true))
      return (async function* stream() {
        yield* parts
        reached()
        await new Promise(() => {})
      })()
    },
  }
  return state
}

const cuts: readonly { readonly name: string; readonly parts: readonly ModelPart[]; readonly kept: readonly string[] }[] = [
  { name: 'before the first part', parts: [], kept: [] },
  { name: 'in its text', parts: [delta('one '), delta('two')], kept: ['assistant one two'] },
  { name: 'in its reasoning', parts: [unsigned], kept: [] },
  { name: 'after signed reasoning', parts: [...signed, unsigned], kept: ['assistant'] },
  { name: 'in a call', parts: [delta('look'), unfinished], kept: ['assistant look'] },
  { name: 'after a call', parts: [callPart('c1'), unfinished], kept: ['assistant work', 'tool work'] },
]

describe.for(cuts)('a step that is interrupted $name', ({ parts, kept }) => {
  test.for(modes)('keeps what is complete, and the run goes on (%s)', async (mode) => {
    const controller = new RunController()
    const state = hanging(parts, () => controller.steer('stop that', { interrupt: true }))
    const executed: string[] = []
    const passed: number[] = []
    const questions: unknown[] = []
    const session = memorySession()
    const agent = new Agent({
      model: state.model,
      tools: [work],
      middleware: [
        {
          name: 'm',
          after_llm_step: (ctx, next) => (passed.push(ctx.step.message.content.length), next()),
          around_tool: (ctx, next) => (executed.push(ctx.toolName), next()),
          on_error: (ctx, next) => (questions.push(ctx.error), next()),
        },
      ],
    })
    const outcome = await execute(mode, agent, 'go', { session, controller })
    expectWhole(outcome, session.messages)
    expect(outcome.result).toMatchObject({ status: 'completed', turns: 2, text: 'as you wish' })
    expect(session.messages.map(lineOf)).toEqual(['user go', ...kept, 'user stop that', 'assistant as you wish'])
    expect(executed).toEqual([])
    expect(questions).toEqual([])
    expect(passed).toHaveLength(kept.length > 0 ? 2 : 1)
    expect(state.aborted).toBe(true)
    const { events } = outcome
    expect(events.filter(({ type }) => ['error', 'hook_error', 'step_reset'].includes(type))).toEqual([])
    const ends = events.filter((event) => event.type === 'step_end')
    expect(ends.map(({ status }) => status)).toEqual(['interrupted', 'completed'])
    expect(ends[0]?.message).toEqual(kept.length > 0 ? session.messages[1] : undefined)
    expect(events.filter((event) => event.type === 'turn_end').map(({ status }) => status)).toEqual(['completed', 'completed'])
    const cut = session.messages.find(({ role }) => role === 'tool')
    if (cut) expect(textOf(cut.content[0] as never)).toMatch(/not executed: a message of the user interrupted/)
    expect(controller.cancellation.waiting).toBe(0)
    expect(controller.signal.aborted).toBe(false)
  })
})

describe.for(modes)('an interruption (%s)', (mode) => {
  test('ends a retry’s delay, and nothing of the attempt comes back', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const { history, result } = await steer(mode, [{ text: 'half', error: busy() }, answer], (say) => ({
        name: 'm',
        on_error: () => (later(() => say('never mind', { interrupt: true })), retry({ delayMs: 3_600_000 })),
      }))
      expect(history).toEqual(['user go', 'user never mind', 'assistant done'])
      expect(result?.turns).toBe(2)
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  test.for(['signal', 'sleep', 'helper', 'deaf'] as const)('ends what a layer waits for: %s', async (way) => {
    const seen: unknown[] = []
    const { history, events } = await steer(
      mode,
      [...(way === 'helper' ? [{ text: 'never', delayMs: 3_600_000 }] : []), answer],
      (say) => {
        const speak = once(() => later(() => say('now', { interrupt: true })))
        return {
          name: 'm',
          async around_llm_step(ctx, next) {
            if (ctx.turn > 0) return next()
            speak()
            try {
              if (way === 'signal')
                await new Promise((_, reject) => ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error)))
              if (way === 'sleep') await ctx.runtime.sleep(3_600_000)
              if (way === 'helper') await ctx.callModel({ messages: [{ role: 'user', content: [{ type: 'text', text: '?' }] }] })
              if (way === 'deaf') await new Promise(() => {})
            } catch (error) {
              seen.push(error)
              throw error
            }
            return next()
          },
        }
      },
    )
    expect(history).toEqual(['user go', 'user now', 'assistant done'])
    expect(events.some(({ type }) => type === 'hook_error')).toBe(false)
    // One that does not listen is given up.
    expect(seen).toMatchObject(way === 'deaf' ? [] : [{ code: 'interrupted' }])
  })

  test('ends what a layer waits for before the model is asked', async () => {
    let reason: unknown
    const { history } = await steer(mode, [answer], (say) => ({
      name: 'm',
      async before_llm_step(ctx, next) {
        if (ctx.turn > 0) return next()
        later(() => say('now', { interrupt: true }))
        await new Promise<void>((resolve) => ctx.signal.addEventListener('abort', () => resolve()))
        reason = ctx.signal.reason
        return next()
      },
    }))
    expect(history).toEqual(['user go', 'user now', 'assistant done'])
    expect(reason).toMatchObject({ code: 'interrupted' })
  })

  test('lets no layer in that stands inside one which slept through it', async () => {
    const entered: number[] = []
    const inner: Middleware = { name: 'inner', around_llm_step: (ctx, next) => (entered.push(ctx.turn), next()) }
    const { history } = await steer(
      mode,
      [answer],
      (say) => ({
        name: 'm',
        async around_llm_step(ctx, next) {
          if (ctx.turn === 0) say('now', { interrupt: true })
          await Promise.resolve()
          return next()
        },
      }),
      { middleware: [inner] },
    )
    expect(history).toEqual(['user go', 'user now', 'assistant done'])
    expect(entered).toEqual([1])
  })

  test('gives up none of the layers of the next step, however long they take', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const { history } = await steer(mode, [{ text: 'never', delayMs: 3_600_000 }, answer], (say) => ({
        name: 'm',
        async around_llm_step(ctx, next) {
          if (ctx.turn === 0) later(() => say('now', { interrupt: true }))
          else {
            later(() => void vi.advanceTimersByTimeAsync(1_000))
            await new Promise((resolve) => setTimeout(resolve, 1_000))
            expect(vi.getTimerCount()).toBe(0)
          }
          return next()
        },
      }))
      expect(history).toEqual(['user go', 'user now', 'assistant done'])
    } finally {
      vi.useRealTimers()
    }
  })

  test('gives up no layer that only observes', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      let isOpen: boolean | undefined
      const { history, told } = await steer(mode, [{ text: 'one two' }, answer], (say) => {
        const speak = once(() => say('now', { interrupt: true }))
        return {
          name: 'm',
          // Holds the step up until it is given up.
          around_llm_step: (ctx, next) => (ctx.turn === 0 ? next().catch(() => new Promise<never>(() => {})) : next()),
          async on_event(ctx, next) {
            if (ctx.event.type === 'text_delta' && ctx.turn === 0) {
              const { signal } = ctx
              speak()
              later(() => void vi.advanceTimersByTimeAsync(1_000))
              await new Promise((resolve) => setTimeout(resolve, 1_000))
              isOpen = !signal.aborted
              ctx.emit('still here')
            }
            return next()
          },
        }
      })
      expect(isOpen).toBe(true)
      if (mode === 'stream') expect(told).toContain('custom')
      expect(history.slice(-2)).toEqual(['user now', 'assistant done'])
    } finally {
      vi.useRealTimers()
    }
  })

  test('is no less one when a layer swallows it', async () => {
    const { history } = await steer(mode, [{ text: 'never', delayMs: 3_600_000 }, answer], (say) => ({
      name: 'm',
      async around_llm_step(ctx, next) {
        if (ctx.turn === 0) later(() => say('now', { interrupt: true }))
        return next().catch(() => stepOf('of the layer'))
      },
    }))
    expect(history).toEqual(['user go', 'user now', 'assistant done'])
  })

  test('ends no tool, and nothing that stands around the run', async () => {
    let finished = 0
    const slow = defineTool({
      name: 'slow',
      description: 'x',
      input: { type: 'object' },
      execute: async (_, ctx) => {
        await new Promise((resolve) => setImmediate(resolve))
        finished += ctx.signal.aborted ? 0 : 1
        return 'slowly'
      },
    })
    const around: boolean[] = []
    const { history } = await steer(
      mode,
      [{ toolCalls: [{ name: 'slow' }] }, { text: 'half', toolCalls: [{ name: 'slow' }] }, answer],
      (say) => ({
        name: 'm',
        async around_run(ctx, next) {
          const { signal } = ctx
          const result = await next()
          around.push(signal.aborted, ctx.signal.aborted)
          return result
        },
        around_tool: (_, next) => (say('while it runs', { interrupt: true }), next()),
        on_event: (ctx, next) => {
          if (ctx.event.type === 'text_delta' && ctx.turn === 1) say('in a step', { interrupt: true })
          return next()
        },
      }),
      { tools: [slow] },
    )
    expect(finished).toBe(1)
    expect(around).toEqual([false, false])
    expect(history).toEqual([
      'user go',
      'assistant slow',
      'tool slow',
      'user while it runs',
      'assistant half',
      'user in a step',
      'assistant done',
    ])
  })

  test('while after_llm_step looks at the answer lets it finish, and starts none of its calls', async () => {
    let entered = 0
    const { history, events } = await steer(mode, [calling, answer], (say) => {
      const speak = once(() => say('no call', { interrupt: true }))
      return {
        name: 'm',
        async after_llm_step(ctx, next) {
          speak()
          entered++
          await ctx.runtime.sleep(1)
          expect(ctx.signal.aborted).toBe(false)
          await next()
          return ctx.turn === 0 ? retry() : undefined
        },
      }
    })
    expect(history).toEqual(['user go', 'assistant let me see work', 'tool work', 'user no call', 'assistant done'])
    expect(entered).toBe(2)
    expect(events.find(({ type }) => type === 'tool_result')).toMatchObject({ status: 'cancelled', isError: true })
    expect(events.find(({ type }) => type === 'step_end')).toMatchObject({ status: 'interrupted', finishReason: 'tool_calls' })
  })

  test('keeps only what after_llm_step makes of it, and nothing where that fails', async () => {
    const half: Script = { parts: [delta('a secret')], delayMs: 0 }
    const speaking = (say: Say): Middleware => ({
      name: 'm',
      on_event: (ctx, next) => (ctx.event.type === 'text_delta' && ctx.turn === 0 && say('x', { interrupt: true }), next()),
    })
    const redacted = await steer(mode, [half, answer], (say) => ({
      ...speaking(once(() => say('x', { interrupt: true }))),
      after_llm_step: async (ctx, next) => (ctx.turn === 0 ? stepOf('***') : next()),
    }))
    expect(redacted.history).toEqual(['user go', 'assistant ***', 'user x', 'assistant done'])
    expect(redacted.told).toContain('step_reset')
    const failed = await steer(mode, [half, answer], (say) => ({
      ...speaking(once(() => say('x', { interrupt: true }))),
      after_llm_step: () => {
        throw new Error('broken')
      },
    }))
    expect(failed.error).toMatchObject({ message: 'broken' })
    expect(failed.history).toEqual(['user go'])
  })

  test('keeps an answer whole that had been read, with what after_llm_step is told of its request', async () => {
    const asked: string[] = []
    const { history, events } = await steer(mode, [calling, answer], (say) => ({
      name: 'm',
      async around_llm_step(ctx, next) {
        ctx.request = { ...ctx.request, system: 'rewritten' }
        const step = await next()
        if (ctx.turn > 0) return step
        say('now', { interrupt: true })
        await ctx.runtime.sleep(3_600_000)
        return step
      },
      after_llm_step: (ctx, next) => (asked.push(ctx.request.system ?? ''), next()),
    }))
    expect(history).toEqual(['user go', 'assistant let me see work', 'tool work', 'user now', 'assistant done'])
    expect(asked).toEqual(['rewritten', 'rewritten'])
    expect(events.find(({ type }) => type === 'step_end')).toMatchObject({ status: 'interrupted', finishReason: 'tool_calls' })
  })

  test('cannot undo a stop', async () => {
    const { result, undelivered, history } = await steer(mode, [{ text: 'one two' }], (say) => ({
      name: 'm',
      on_event: (ctx, next) => (ctx.event.type === 'text_delta' && say('x', { interrupt: true }), next()),
      after_llm_step: () => stop('enough'),
    }))
    expect(result).toMatchObject({ status: 'stopped', reason: 'enough' })
    expect(history).toEqual(['user go', 'assistant one'])
    expect(undelivered).toEqual(['x'])
  })

  test('by a message that is refused ends the run where the model has nothing to answer', async () => {
    const layers = (say: Say): Middleware => ({
      name: 'm',
      on_event: (ctx, next) => (ctx.event.type === 'text_delta' && ctx.turn === 0 && say('x', { interrupt: true }), next()),
      on_input: (ctx, next) => (ctx.source === 'steer' ? deny('no') : next()),
    })
    const ended = await steer(mode, [{ text: 'one two' }], layers)
    expect(ended.result).toMatchObject({ status: 'stopped', reason: expect.stringContaining('denied') })
    expect(ended.history).toEqual(['user go', 'assistant one'])
    expect(ended.undelivered).toEqual(['x'])
    const last = await steer(mode, [{ text: 'one two' }], layers, { maxTurns: 1 })
    expect(last.result?.status).toBe('max_turns')
  })

  test('gives way to a cancel', async () => {
    const { error, undelivered, told } = await steer(mode, [{ text: 'never', delayMs: 3_600_000 }], (say, controller) => ({
      name: 'm',
      around_llm_step: (_, next) => (
        later(() => {
          say('x', { interrupt: true })
          controller.cancel('enough')
        }),
        next()
      ),
    }))
    expect(error).toBeInstanceOf(RunCancelledError)
    expect(undelivered).toEqual(['x'])
    expect(told.slice(-2)).toEqual(['run_cancelled', 'run_end'])
  })
})
