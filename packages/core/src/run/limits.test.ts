import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Agent, defineTool, deriveSignal, memorySession, retry, RunController } from '@koagent/core'
import type { Middleware, Model, RunResult } from '@koagent/core'
import { scripted } from '../scripted.ts'
import { stepOf } from '../testing/ask.ts'
import { execute, expectWhole, modes, recorder } from '../testing/kit.ts'
import type { Mode, Outcome } from '../testing/kit.ts'
import { silent } from '../testing/stage.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const never = new Promise<never>(() => {})
const deafModel: Model = { provider: 'p', id: 'deaf', stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => never }) }) }
const deafTool = defineTool({ name: 'deaf', description: 'Deaf.', input: { type: 'object' }, execute: () => never })

/** A time limit as a middleware sets one: its own signal in place of the run's. */
function limit(
  point: 'around_run' | 'around_llm_step' | 'around_tool',
  timeoutMs: number,
  more: Omit<Middleware, 'name'> = {},
): Middleware {
  const hook = async (ctx: { signal: AbortSignal }, next: () => Promise<never>): Promise<never> => {
    const derived = deriveSignal(ctx.signal, { timeoutMs })
    ctx.signal = derived.signal
    try {
      return await next()
    } finally {
      derived.dispose()
    }
  }
  return { name: `limit-${point}`, [point]: hook, ...more }
}

/** Runs to the end on a fake clock. */
async function timed(mode: Mode, agent: Agent, options: object = {}): Promise<Outcome & { readonly tookMs: number }> {
  let outcome: Outcome | undefined
  void execute(mode, agent, 'go', options).then((value) => (outcome = value))
  let tookMs = 0
  while (!outcome && tookMs < 5_000) await vi.advanceTimersByTimeAsync(((tookMs += 10), 10))
  if (!outcome) throw new Error('never over')
  expect(vi.getTimerCount()).toBe(0)
  return { ...outcome, tookMs }
}

describe('a time limit', () => {
  test.for(modes)('at around_llm_step is an ordinary failure of the step (%s)', async (mode) => {
    const asked: unknown[] = []
    const session = memorySession()
    const agent = new Agent({
      model: deafModel,
      middleware: [
        { name: 'asks', on_error: (ctx, next) => (asked.push([ctx.phase, ctx.error.name]), next()) },
        limit('around_llm_step', 100),
      ],
    })
    const { error, events, tookMs } = await timed(mode, agent, { session })
    expect(error).toMatchObject({ name: 'TimeoutError' })
    expect(tookMs).toBeLessThanOrEqual(120)
    expect(asked).toEqual([['llm_step', 'TimeoutError']])
    expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'failed' })
    expectWhole({ events }, session.messages)
  })

  test.for(modes)('at around_llm_step can be retried and caught (%s)', async (mode) => {
    const retrying = new Agent({
      model: deafModel,
      middleware: [
        { name: 'again', on_error: () => retry({ request: { model: scripted([{ text: 'in time' }]) } }) },
        limit('around_llm_step', 100),
      ],
    })
    expect((await timed(mode, retrying)).result?.text).toBe('in time')
    const catching = new Agent({
      model: deafModel,
      middleware: [
        { name: 'catches', around_llm_step: (_, next) => next().catch(() => stepOf('too slow')) },
        limit('around_llm_step', 100),
      ],
    })
    expect((await timed(mode, catching)).result?.text).toBe('too slow')
  })

  test.for(modes)('at around_tool is an error result, and the run goes on (%s)', async (mode) => {
    const agent = new Agent({
      model: scripted([{ toolCalls: [{ name: 'deaf' }] }, { text: 'so be it' }]),
      tools: [deafTool],
      middleware: [limit('around_tool', 100)],
    })
    const { result, events } = await timed(mode, agent)
    expect(result).toMatchObject({ status: 'completed', text: 'so be it' })
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'tool_result', status: 'error', error: expect.objectContaining({ name: 'TimeoutError' }) }),
    )
  })

  const works: [string, ConstructorParameters<typeof Agent>[0]][] = [
    ['a deaf model', { model: deafModel }],
    [
      'a deaf tool',
      { model: scripted([{ toolCalls: [{ name: 'deaf' }] }, { toolCalls: [{ name: 'deaf' }] }]), tools: [deafTool] },
    ],
    [
      'a deaf layer',
      { model: scripted([{ text: 'x' }, { text: 'x' }]), middleware: [{ name: 'deaf', before_turn: () => never }] },
    ],
    ['a retry delay', { model: scripted([]), middleware: [{ name: 'slow', on_error: () => retry({ delayMs: 60_000 }) }] }],
    [
      'runtime.sleep',
      {
        model: scripted([]),
        middleware: [{ name: 'slow', before_turn: async (ctx, next) => (await ctx.runtime.sleep(60_000), next()) }],
      },
    ],
  ]
  test.for(works.flatMap((row) => modes.map((mode) => [...row, mode] as const)))(
    'at around_run ends %s, unwinds all inside, and is no cancel ($2)',
    async ([, options, mode]) => {
      const trace: string[] = []
      const session = memorySession()
      const controller = new RunController()
      const inside: (string | undefined)[] = []
      const sees: Middleware = {
        name: 'sees',
        after_turn: async (ctx, next) => (inside.push((await next().catch(() => ctx.result)).status), undefined),
      }
      const layers = [recorder('outer', trace), limit('around_run', 200), sees, ...((options.middleware ?? []) as Middleware[])]
      const { error, events, tookMs } = await timed(mode, new Agent({ ...options, middleware: layers, logger: silent }), {
        session,
        controller,
      })
      expect(error).toMatchObject({ name: 'TimeoutError' })
      expect(tookMs).toBeLessThanOrEqual(300)
      expect(controller.cancelled).toBe(false)
      expect(inside).toEqual(['failed'])
      expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'failed' })
      expectWhole({ events }, session.messages)
      expect(trace.filter((entry) => entry[0] === '>')).toHaveLength(trace.length / 2)
      expect(controller.cancellation.waiting).toBe(0)
    },
  )

  test.for(modes)('at around_run may be caught further out, and the run completes (%s)', async (mode) => {
    const rescued: RunResult = {
      runId: 'r',
      status: 'completed',
      text: 'partial',
      messages: [],
      usage: { inputTokens: 0, outputTokens: 0 },
      turns: 1,
    }
    const after: string[] = []
    const agent = new Agent({
      model: deafModel,
      middleware: [
        {
          name: 'catches',
          around_run: (_, next) => next().catch(() => rescued),
          // What follows an interruption may wait again.
          after_run: async (ctx, next) => {
            await ctx.runtime.sleep(10)
            // Longer than a cancelled run would wait for a layer.
            await new Promise((resolve) => setTimeout(resolve, 200))
            after.push(String(ctx.signal.aborted))
            return { ...(await next()), text: 'rescued' }
          },
        },
        limit('around_run', 100),
      ],
    })
    const { result, events } = await timed(mode, agent)
    expect(result?.text).toBe('rescued')
    expect(after).toEqual(['false'])
    expectWhole({ events })
  })

  test.for(modes)('that a cancel comes before or after is a cancel (%s)', async (mode) => {
    for (const point of ['around_run', 'around_llm_step'] as const) {
      for (const atMs of [50, 101]) {
        const controller = new RunController()
        setTimeout(() => controller.cancel('enough'), atMs)
        const slow: Middleware = {
          name: 'slow',
          around_llm_step: async (_, next) => {
            try {
              return await next()
            } finally {
              await new Promise((resolve) => setTimeout(resolve, 20))
            }
          },
        }
        const { error } = await timed(mode, new Agent({ model: deafModel, middleware: [limit(point, 100), slow] }), {
          controller,
        })
        expect(error).toMatchObject({ name: 'AbortError' })
      }
    }
  })

  test.for(modes)('that was over before the work began starts none of it (%s)', async (mode) => {
    let started = 0
    const model: Model = {
      ...deafModel,
      stream: () => (started++, deafModel.stream({ messages: [], tools: [] }, { signal: new AbortController().signal })),
    }
    const tool = defineTool({ name: 'deaf', description: 'x', input: { type: 'object' }, execute: () => started++ })
    const over = (point: 'around_llm_step' | 'around_tool'): Middleware => ({
      name: 'over',
      [point]: (ctx: { signal: AbortSignal }, next: () => Promise<never>) => (
        (ctx.signal = AbortSignal.abort(new Error('too late'))),
        next()
      ),
    })
    const step = await timed(mode, new Agent({ model, middleware: [over('around_llm_step')] }))
    expect(step.error).toMatchObject({ message: 'too late' })
    const script = scripted([{ toolCalls: [{ name: 'deaf' }] }, { text: 'done' }])
    const call = await timed(mode, new Agent({ model: script, tools: [tool], middleware: [over('around_tool')] }))
    expect(call.events).toContainEqual(expect.objectContaining({ type: 'tool_result', status: 'error' }))
    expect(started).toBe(0)
  })

  test.for(modes)('leaves no listener on the signal it was given (%s)', async (mode) => {
    const own = new AbortController()
    const takes: Middleware = {
      name: 'takes',
      around_run: (ctx, next) => ((ctx.signal = own.signal), next()),
      around_llm_step: (ctx, next) => ((ctx.signal = own.signal), next()),
      around_tool: (ctx, next) => ((ctx.signal = own.signal), next()),
    }
    const ok = defineTool({
      name: 'ok',
      description: 'x',
      input: { type: 'object' },
      execute: (_, ctx) => String(ctx.signal.aborted),
    })
    const { result } = await timed(
      mode,
      new Agent({ model: scripted([{ toolCalls: [{ name: 'ok' }] }, { text: 'done' }]), tools: [ok], middleware: [takes] }),
    )
    expect(result?.status).toBe('completed')
    expect(getEventListeners(own.signal, 'abort')).toHaveLength(0)
  })
})
