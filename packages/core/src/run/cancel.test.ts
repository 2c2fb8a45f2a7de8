import { describe, expect, test } from 'vitest'
import { memorySession, RunCancelledError, RunController } from '@koagent/core'
import type { AgentEvent, Middleware, Point, RunResult, Session, TurnResult } from '@koagent/core'
import { points } from '../hooks.ts'
import { inspect } from '../session/pairs.ts'
import { execute, expectWhole, modes, recorder } from '../testing/kit.ts'
import type { Mode, Outcome } from '../testing/kit.ts'
import { layer, stage } from '../testing/stage.ts'
import type { AnyHook } from '../testing/stage.ts'

/** What is counted of a run that is cancelled. */
interface Cancelled extends Outcome {
  readonly session: Session
  readonly controller: RunController
  readonly trace: readonly string[]
  readonly seen: { readonly turns: TurnResult[]; run?: RunResult }
  /** Model and tool calls that began after the cancel. */
  readonly late: readonly string[]
}

/** A stage between two recorders, with a layer that cancels. */
async function cancelled(mode: Mode, culprit: Middleware, options: { readonly signal?: AbortSignal } = {}): Promise<Cancelled> {
  const trace: string[] = []
  const late: string[] = []
  const seen: { turns: TurnResult[]; run?: RunResult } = { turns: [] }
  const controller = new RunController()
  const innermost: Middleware = {
    name: 'innermost',
    around_llm_step: (ctx, next) => (controller.cancelled && late.push(`llm:${ctx.turn}`), next()),
    around_tool: (ctx, next) => (controller.cancelled && late.push(ctx.toolName), next()),
  }
  const observer: Middleware = {
    name: 'observer',
    after_turn: async (ctx, next) => {
      // What stands in the session is whole before anybody hears that the turn is over.
      expect(inspect(ctx.session.messages).problem).toBeUndefined()
      seen.turns.push(await next().catch(() => ctx.result))
    },
    after_run: async (_, next) => void (seen.run = await next()),
  }
  const session = memorySession()
  const agent = stage([recorder('outer', trace), observer, culprit, recorder('inner', trace), innermost])
  const outcome = await execute(mode, agent, 'go', { session, controller, ...options })
  return { ...outcome, session, controller, trace, seen, late }
}

/** What holds of every cancelled run. */
async function expectCancelled({ error, events, session, controller, trace, seen, late }: Cancelled): Promise<void> {
  expect(error).toBeInstanceOf(RunCancelledError)
  expect(error).toMatchObject({ name: 'AbortError', code: 'run_cancelled', message: expect.stringContaining('enough') })
  expect(events.slice(-2)).toMatchObject([{ type: 'run_cancelled' }, { type: 'run_end', status: 'cancelled' }])
  expect(events.some(({ type }) => type === 'error')).toBe(false)
  expectWhole({ events }, session.messages)
  expect(late).toEqual([])
  const open: string[] = []
  for (const entry of trace) {
    if (entry.startsWith('>')) open.push(entry.slice(1))
    else expect(entry.slice(1)).toBe(open.pop())
  }
  expect(open).toEqual([])
  if (trace.includes('>outer:before_run')) expect(seen.run).toMatchObject({ status: 'cancelled' })
  const begun = events.filter(({ type }) => type === 'turn_begin')
  const ended = events.filter((event) => event.type === 'turn_end')
  expect(ended).toHaveLength(begun.length)
  const { result } = error as RunCancelledError
  expect(result).toMatchObject({ status: 'cancelled', messages: session.messages, turns: begun.length })
  expect(controller.cancel()).toBe(false)
  expect(controller.cancellation.waiting).toBe(0)
  expect(await stage().run('again', { session })).toMatchObject({ status: 'completed' })
}

const sides = ['before', 'after'] as const

/** Once, on one side of `next()`. */
function once(side: (typeof sides)[number], act: (ctx: Parameters<AnyHook>[0]) => unknown): AnyHook {
  let done = false
  const actOnce = (ctx: Parameters<AnyHook>[0]): unknown => (done ? undefined : ((done = true), act(ctx)))
  return async (ctx, next) => {
    if (side === 'before') await actOnce(ctx)
    try {
      return await next()
    } finally {
      if (side === 'after') await actOnce(ctx)
    }
  }
}

/** Where a cancel still counts: the outcome is decided before after_run. */
const inTime = points.filter((point) => point !== 'after_run' && point !== 'on_session_end')
const table = inTime.flatMap((point) => sides.map((side) => ({ point, side })))

describe.for(table)('a cancel from a hook at $point, $side next()', ({ point, side }) => {
  test.for(modes)('ends the run at once and in order (%s)', async (mode) => {
    let accepted: unknown
    const cancel = once(side, (ctx) => (accepted = ctx.controller.cancel('enough')))
    const outcome = await cancelled(mode, layer('culprit', point, cancel))
    expect(accepted).toBe(true)
    await expectCancelled(outcome)
    // Begun turns see how they ended, unless they had ended before.
    const last = outcome.seen.turns.at(-1)
    if (last && !['on_stop', 'after_turn', 'around_run', 'on_event'].includes(point)) expect(last.status).toBe('cancelled')
  })
})

describe.for(['after_run', 'on_session_end'] as const satisfies Point[])('a cancel from a hook at %s', (point) => {
  test.for(modes)('comes too late, and says so (%s)', async (mode) => {
    let accepted: unknown
    const cancel = once('before', (ctx) => (accepted = ctx.controller.cancel('enough')))
    const { result, error, controller } = await cancelled(mode, layer('culprit', point, cancel))
    expect(error).toBeUndefined()
    expect(result).toMatchObject({ status: 'completed' })
    expect(accepted).toBe(point === 'on_session_end' ? undefined : false)
    expect(controller.cancelled).toBe(false)
  })
})

/** Cancels when the i-th event of the run goes by, by an outside signal or by the run's controller. */
const by = ['signal', 'controller'] as const

describe.for(by)('a cancel from outside, by the %s', (way) => {
  test.for(modes)('counts at every event of a run (%s)', async (mode) => {
    const count = (await cancelled(mode, { name: 'nobody' })).events.length
    for (let at = 0; at < count; at++) {
      const outside = new AbortController()
      let seen = 0
      const culprit: Middleware = {
        name: 'culprit',
        on_event: (ctx, next) => {
          if (seen++ === at) {
            if (way === 'signal') outside.abort('enough')
            else ctx.controller.cancel('enough')
          }
          return next()
        },
      }
      const outcome = await cancelled(mode, culprit, { signal: outside.signal })
      // run_end tells of what is decided.
      if (at < count - 1) await expectCancelled(outcome)
      else expect(outcome.result?.status).toBe('completed')
    }
  })

  test.for(modes)('beforehand enters no hook (%s)', async (mode) => {
    const controller = new RunController()
    const trace: string[] = []
    const signal = way === 'signal' ? AbortSignal.abort('enough') : undefined
    if (way === 'controller') expect(controller.cancel('enough')).toBe(true)
    const session = memorySession()
    const { error, events } = await execute(mode, stage([recorder('m', trace)]), 'go', {
      controller,
      session,
      ...(signal && { signal }),
    })
    expect(error).toMatchObject({ name: 'AbortError', cause: 'enough', result: { status: 'cancelled', text: '', turns: 0 } })
    expect(events.map(({ type }) => type)).toEqual(['run_begin', 'run_cancelled', 'run_end'])
    expect(trace).toEqual([])
    expect(session.messages).toEqual([])
    expect(controller.cancellation.waiting).toBe(0)
    expect(await stage().run('again', { session })).toMatchObject({ status: 'completed' })
  })
})

describe('what a cancelled run leaves', () => {
  test.for(modes)('is in the result of its error, and in the session (%s)', async (mode) => {
    const cancel: AnyHook = (ctx, next) => (ctx['toolName'] === 'broken' && ctx.controller.cancel('enough'), next())
    const { error, session, seen } = await cancelled(mode, layer('culprit', 'before_tool', cancel))
    const { result } = error as RunCancelledError
    expect(result.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool'])
    expect(session.messages).toEqual(result.messages)
    expect(session.messages.at(-1)).toMatchObject({ content: [{ isError: true, toolName: 'broken' }] })
    expect(seen.turns.at(-1)).toMatchObject({ status: 'cancelled', toolResults: [{ toolName: 'broken' }] })
    expect(result).toMatchObject({ turns: 2, reason: expect.stringContaining('enough') })
  })

  test.for(modes)('is a cancel, whatever layers make of it (%s)', async (mode) => {
    const made = {
      runId: 'r',
      status: 'completed',
      text: 'fine',
      messages: [],
      usage: { inputTokens: 0, outputTokens: 0 },
      turns: 1,
    }
    const swallow: AnyHook = async (ctx, next) => {
      if (ctx.point === 'on_permission') ctx.controller.cancel('enough')
      try {
        return await next()
      } catch {
        return ctx.point === 'around_run' ? made : undefined
      }
    }
    const outcome = await cancelled(
      mode,
      layer(
        'culprit',
        points.filter((point) => point !== 'on_event'),
        swallow,
      ),
    )
    expect(outcome.result).toBeUndefined()
    await expectCancelled(outcome)
  })

  test.for(modes)('is a cancel, also when layers fail while they unwind (%s)', async (mode) => {
    const fail: AnyHook = async (ctx, next) => {
      if (ctx.point === 'around_tool') ctx.controller.cancel('enough')
      await next().catch(() => {})
      if (ctx.cancelled) throw new Error('while unwinding')
      return undefined
    }
    const culprit = layer(
      'culprit',
      points.filter((point) => !['on_event', 'on_session_end'].includes(point)),
      fail,
    )
    const { error, events, session } = await cancelled(mode, culprit)
    expect(error).toBeInstanceOf(RunCancelledError)
    expectWhole({ events }, session.messages)
    expect(events.slice(-2).map(({ type }) => type)).toEqual(['run_cancelled', 'run_end'])
  })
})

describe('an AbortError that no cancel caused', () => {
  const abortError = new DOMException('aborted by itself', 'AbortError')

  test.for(modes)('is an ordinary error (%s)', async (mode) => {
    const throws: AnyHook = () => {
      throw abortError
    }
    const failed = await cancelled(mode, layer('culprit', 'around_llm_step', throws))
    expect(failed.error).toBe(abortError)
    expect(failed.events.at(-1)).toMatchObject({ status: 'failed' })
  })
})

describe('a consumer that leaves', () => {
  const leavings: [string, (event: AgentEvent) => void][] = [
    ['by break', () => {}],
    [
      'by a throw',
      () => {
        throw new Error('in the loop body')
      },
    ],
  ]
  test.for(leavings)('the loop %s cancels the run', async ([way, leave]) => {
    const count = (await cancelled('stream', { name: 'nobody' })).events.length
    for (let at = 0; at < count; at++) {
      const session = memorySession()
      const trace: string[] = []
      const run = stage([recorder('m', trace)]).stream('go', { session })
      let seen = 0
      const loop = async (): Promise<void> => {
        for await (const event of run) {
          if (seen++ !== at) continue
          leave(event)
          break
        }
      }
      const thrown: unknown = await loop().catch((error: unknown) => error)
      expect(thrown).toEqual(way === 'by a throw' ? new Error('in the loop body') : undefined)
      // When the loop is left, the run is over.
      expect(run.controller.cancel()).toBe(false)
      const outcome: unknown = await run.result.catch((error: unknown) => error)
      if (run.controller.cancelled) expect(outcome).toMatchObject({ name: 'AbortError', result: { status: 'cancelled' } })
      else expect(outcome).toMatchObject({ status: 'completed' })
      expectWhole({ events: [{ type: 'run_begin' }, { type: 'run_end' }] as AgentEvent[] }, session.messages)
      expect(trace.filter((entry) => entry[0] === '>')).toHaveLength(trace.length / 2)
      expect(await stage().run('again', { session })).toMatchObject({ status: 'completed' })
    }
  })
})
