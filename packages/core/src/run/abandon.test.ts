import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Agent, defineTool, memorySession, ModelError, retry, RunController } from '@koagent/core'
import type { AnyMiddleware, Message, Middleware, Model, ModelPart, RunOptions, Session, Tool } from '@koagent/core'
import { points } from '../hooks.ts'
import { scripted } from '../scripted.ts'
import { execute, expectWhole, modes, recorder } from '../testing/kit.ts'
import type { Mode, Outcome } from '../testing/kit.ts'
import { layer, silent, stage } from '../testing/stage.ts'
import type { AnyHook } from '../testing/stage.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const never = new Promise<never>(() => {})

interface Watched extends Outcome {
  /** Milliseconds on the fake clock between the cancel and the run's end. */
  readonly tookMs: number
}

/** Runs until it ends, on a fake clock; `limitMs` is how long that may take. */
async function watch(mode: Mode, agent: Agent, options: RunOptions, limitMs = 1_000, afterMs = 0): Promise<Watched> {
  const controller = options.controller ?? new RunController()
  let outcome: Outcome | undefined
  void execute(mode, agent, 'go', { ...options, controller }).then((value) => (outcome = value))
  await vi.advanceTimersByTimeAsync(afterMs)
  controller.cancel('enough')
  let tookMs = 0
  while (!outcome && tookMs < limitMs) await vi.advanceTimersByTimeAsync(((tookMs += 10), 10))
  if (!outcome) throw new Error(`not over after ${tookMs} ms`)
  expect(vi.getTimerCount()).toBe(0)
  expect(controller.cancellation.waiting).toBe(0)
  return { ...outcome, tookMs }
}

function expectNested(trace: readonly string[]): void {
  const open: string[] = []
  for (const entry of trace) {
    if (entry.startsWith('>')) open.push(entry.slice(1))
    else expect(entry.slice(1)).toBe(open.pop())
  }
  expect(open).toEqual([])
}

const hanging = points.filter((point) => point !== 'on_session_end')
const sides = ['before', 'after'] as const
const table = hanging.flatMap((point) => sides.map((side) => ({ point, side })))

describe.for(table)('a layer that never settles at $point, $side next()', ({ point, side }) => {
  test.for(modes)('cannot hold a cancelled run (%s)', async (mode) => {
    const hang: AnyHook = async (_, next) => {
      if (side === 'after') await next()
      return never
    }
    const trace: string[] = []
    const session = memorySession()
    const agent = stage([recorder('outer', trace), layer('deaf', point, hang), recorder('inner', trace)])
    const { error, events, tookMs } = await watch(mode, agent, { session }, 3_000, 1)
    if (point === 'after_run') expect(error).toBeUndefined()
    else expect(error).toMatchObject({ name: 'AbortError', result: { status: 'cancelled' } })
    // Every chain that unwinds meets it again, at after_turn and on_event many times.
    expect(tookMs).toBeLessThanOrEqual(point === 'on_event' ? 1_000 : 100)
    expectNested(trace)
    // In a run the layer that collects stands inside the deaf one.
    if (mode === 'stream' || point !== 'on_event' || side === 'after') expectWhole({ events }, session.messages)
    expect(await stage().run('again', { session })).toMatchObject({ status: 'completed' })
  })
})

describe('layers that never settle at all points at once', () => {
  test.for(modes)('cannot hold a cancelled run (%s)', async (mode) => {
    const deaf = layer(
      'deaf',
      hanging.filter((point) => point !== 'on_event'),
      async (_, next) => (await next().catch(() => {}), never),
    )
    const { error, events, tookMs } = await watch(mode, stage([deaf]), {}, 1_000, 1)
    expect(error).toMatchObject({ name: 'AbortError' })
    expect(tookMs).toBeLessThanOrEqual(200)
    expectWhole({ events })
  })

  test.for(modes)('are given up one after the other in one chain, those around them still unwind (%s)', async (mode) => {
    const trace: string[] = []
    const deaf = (name: string): AnyMiddleware =>
      layer(name, 'around_tool', async (_, next) => (await next().catch(() => {}), never))
    const { tookMs, events } = await watch(
      mode,
      stage([recorder('outer', trace), deaf('a'), deaf('b'), layer('c', 'around_tool', () => never)]),
      {},
      1_000,
      1,
    )
    expect(tookMs).toBeLessThanOrEqual(100)
    expect(trace).toContain('<outer:around_tool')
    expectWhole({ events })
  })
})

const startingPoints = points.filter(
  (point) => !['on_session_start', 'on_event', 'after_turn', 'after_run', 'on_session_end'].includes(point),
)

describe.for(startingPoints)('a layer that slept through the cancel at %s', (point) => {
  test.for(modes)('starts nothing by calling next() (%s)', async (mode) => {
    const started: string[] = []
    const late = layer('innermost', ['around_llm_step', 'around_tool'], (ctx, next) => {
      if (ctx.cancelled) started.push(ctx.point)
      return next()
    })
    let woke: Promise<unknown> | undefined
    const sleeper: AnyHook = (_, next) =>
      (woke = (async () => {
        await new Promise((resolve) => setTimeout(resolve, 30))
        return next()
      })())
    const session = memorySession()
    const { error, events } = await watch(mode, stage([layer('sleeper', point, sleeper), late]), { session }, 500, 1)
    expect(error).toMatchObject({ name: 'AbortError' })
    await expect(woke).rejects.toBe(error)
    expect(started).toEqual([])
    expectWhole({ events }, session.messages)
  })
})

test.for(modes)(
  'a layer that wakes up after it was given up is refused, and what it sets and emits is dropped (%s)',
  async (mode) => {
    const refused: unknown[] = []
    let wake: (() => void) | undefined
    const straggler: AnyHook = async (ctx, next) => {
      await new Promise<void>((resolve) => (wake = resolve))
      ctx.emit('late')
      ;(ctx['addContext'] as (text: string) => void)('late')
      await ctx.callModel({ messages: [] }).catch((error: unknown) => refused.push(error))
      return next().catch((error: unknown) => refused.push(error))
    }
    const waking: AnyHook = async (_, next) => {
      wake?.()
      await new Promise((resolve) => setImmediate(resolve))
      return next()
    }
    const agent = stage([layer('waking', 'after_turn', waking), layer('straggler', 'before_tool', straggler)])
    const { events } = await watch(mode, agent, {}, 500, 1)
    expect(events.some(({ type }) => type === 'custom')).toBe(false)
    expect(refused).toMatchObject([{ code: 'hook_contract' }, { code: 'hook_contract' }])
  },
)

/** What never answers and does not look at its signal. */
function deafModel(before: readonly ModelPart[], closed: string[] = []): Model {
  return {
    provider: 'deaf',
    id: 'deaf',
    async *stream() {
      try {
        yield* before
        await never
      } finally {
        closed.push('model')
      }
    },
  }
}
const tool = (name: string, execute: Tool['execute']): Tool =>
  defineTool({ name, description: name, input: { type: 'object' }, execute })

describe('deaf work', () => {
  test.for(modes)('of a model is left at once, and its answer so far is kept (%s)', async (mode) => {
    const parts: ModelPart[] = [
      { type: 'reasoning_delta', text: 'signed', blockId: '1' },
      { type: 'reasoning_end', blockId: '1', providerData: 'signature' },
      { type: 'reasoning_delta', text: 'unsigned', blockId: '2' },
      { type: 'text_delta', text: 'so far' },
      { type: 'tool_call', callId: 'whole', toolName: 'work', args: '{}' },
      { type: 'tool_call_delta', callId: 'half', toolName: 'work', delta: '{"a' },
    ]
    const session = memorySession()
    const worked: unknown[] = []
    const agent = new Agent({ model: deafModel(parts), tools: [tool('work', () => worked.push(1))] })
    const { error, events, tookMs } = await watch(mode, agent, { session }, 500, 1)
    expect(tookMs).toBeLessThanOrEqual(10)
    expect(error).toMatchObject({ name: 'AbortError', result: { text: 'so far', status: 'cancelled' } })
    expect(worked).toEqual([])
    expectWhole({ events }, session.messages)
    expect(session.messages.slice(1)).toMatchObject([
      {
        role: 'assistant',
        content: [{ providerData: 'signature' }, { text: 'so far' }, { callId: 'whole' }],
      },
      { role: 'tool', content: [{ callId: 'whole', isError: true, content: [{ text: expect.stringContaining('cut off') }] }] },
    ])
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool_result', callId: 'whole', status: 'cancelled' }))
  })

  test.for(modes)('of a tool is left at once, and its late result is dropped (%s)', async (mode) => {
    const session = memorySession()
    let finish: ((value: string) => void) | undefined
    const slow = tool('slow', () => new Promise((resolve) => (finish = resolve)))
    const quick = tool('quick', () => 'in time')
    const script = [{ toolCalls: [{ name: 'slow' }, { name: 'quick' }] }]
    const agent = new Agent({ model: scripted(script), tools: [slow, quick] })
    const { events, tookMs } = await watch(mode, agent, { session }, 500, 1)
    expect(tookMs).toBeLessThanOrEqual(10)
    finish?.('late')
    await vi.advanceTimersByTimeAsync(10)
    expectWhole({ events }, session.messages)
    const results = session.messages.flatMap((message) => (message.role === 'tool' ? message.content : []))
    expect(results).toMatchObject([
      { toolName: 'slow', isError: true },
      { toolName: 'quick', isError: false },
    ])
    expect(JSON.stringify(session.messages)).not.toContain('late')
  })

  test.for(modes)('that looks at its signal gets the reason of the cancel, and ends the run once (%s)', async (mode) => {
    const reasons: unknown[] = []
    const obedient = tool('obedient', (_, { signal }) => {
      return new Promise((_resolve, reject) =>
        signal.addEventListener('abort', () => reject(reasons[reasons.push(signal.reason) - 1])),
      )
    })
    const agent = new Agent({ model: scripted([{ toolCalls: [{ name: 'obedient' }] }]), tools: [obedient] })
    const { error, events } = await watch(mode, agent, {}, 500, 1)
    expect(reasons).toEqual([error])
    expectWhole({ events })
    expect(events.filter(({ type }) => type === 'run_cancelled')).toHaveLength(1)
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool_result', status: 'cancelled' }))
  })

  test.for(modes)('of a generator that never yields again is left at once (%s)', async (mode) => {
    const progress = tool('progress', async function* () {
      yield 1
      await never
    })
    const agent = new Agent({ model: scripted([{ toolCalls: [{ name: 'progress' }] }]), tools: [progress] })
    const { events, tookMs } = await watch(mode, agent, {}, 500, 1)
    expect(tookMs).toBeLessThanOrEqual(10)
    expectWhole({ events })
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool_progress', data: 1 }))
  })
})

describe('a wait of core', () => {
  const waits: [string, Omit<Middleware, 'name'>][] = [
    ['a retry delay of a step', { on_error: () => retry({ delayMs: 60_000 }) }],
    ['a retry delay of a tool', { after_tool: () => retry({ delayMs: 60_000 }) }],
    ['ctx.runtime.sleep', { before_turn: async (ctx, next) => (await ctx.runtime.sleep(60_000), next()) }],
    [
      'ctx.callModel',
      {
        before_turn: async (ctx, next) => (await ctx.callModel({ messages: ctx.session.messages, model: deafModel([]) }), next()),
      },
    ],
  ]
  test.for(waits.flatMap((row) => modes.map((mode) => [...row, mode] as const)))(
    '%s ends with the cancel ($2)',
    async ([name, hooks, mode]) => {
      const model = scripted([
        name.includes('of a step') ? { error: new ModelError('busy', { retryable: true }) } : { toolCalls: [{ name: 'look' }] },
      ])
      const agent = new Agent({ model, tools: [tool('look', () => 'seen')], logger: silent }).use({ name: 'waits', ...hooks })
      const session = memorySession()
      const { error, events, tookMs } = await watch(mode, agent, { session }, 500, 1)
      expect(error).toMatchObject({ name: 'AbortError' })
      expect(tookMs).toBeLessThanOrEqual(10)
      expectWhole({ events }, session.messages)
    },
  )
})

/** A session whose writes take their time. */
function slowSession(ms: number): Session & { readonly log: string[] } {
  const inner = memorySession()
  const log: string[] = []
  const write = async (what: string, act: () => void | Promise<void>): Promise<void> => {
    log.push(`${what}…`)
    await new Promise((resolve) => setTimeout(resolve, ms))
    await act()
    log.push(what)
  }
  return {
    id: inner.id,
    log,
    get messages() {
      return inner.messages
    },
    append: (messages: readonly Message[]) => write(messages.map(({ role }) => role).join(), () => inner.append(messages)),
    replace: (messages: readonly Message[]) => write('replace', () => inner.replace(messages)),
  }
}

describe('a session write', () => {
  test.for(modes)('is waited for by a cancelled run, then the session is free (%s)', async (mode) => {
    const session = slowSession(400)
    const { error, events, tookMs } = await watch(mode, stage(), { session }, 3_000, 450)
    expect(error).toMatchObject({ name: 'AbortError' })
    expect(tookMs).toBeGreaterThanOrEqual(340)
    expect(session.log.filter((entry) => entry.endsWith('…'))).toHaveLength(session.log.length / 2)
    expectWhole({ events }, session.messages)
  })

  test.for(modes)('of a layer is waited for too, though the layer is given up (%s)', async (mode) => {
    const session = slowSession(400)
    const writes: Middleware = {
      name: 'writes',
      before_turn: async (ctx, next) => {
        await ctx.session.append([{ role: 'user', content: [{ type: 'text', text: 'by a layer' }] }])
        return next()
      },
    }
    await watch(mode, stage([writes]), { session }, 3_000, 500)
    expect(session.log).toEqual(['user…', 'user', 'user…', 'user'])
  })
})
