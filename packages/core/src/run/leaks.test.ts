import { getEventListeners, setMaxListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Agent, defineTool, deny, deriveSignal, memorySession, retry, RunController, stop } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { scripted } from '../scripted.ts'
import { busy } from '../testing/ask.ts'
import { execute, modes } from '../testing/kit.ts'
import type { Mode } from '../testing/kit.ts'
import { silent } from '../testing/stage.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const never = new Promise<never>(() => {})
const input = { type: 'object' as const }
const tools = [
  defineTool({
    name: 'quick',
    description: 'Limited, and looks at its signal.',
    input,
    timeoutMs: 60_000,
    execute: (_, ctx) => String(ctx.signal.aborted),
  }),
  defineTool({ name: 'deaf', description: 'Never ends.', input, execute: () => never }),
  defineTool({ name: 'slow', description: 'Too slow.', input, timeoutMs: 5, execute: () => never }),
]
const cancelSoon: Middleware = {
  name: 'cancels',
  around_tool: (ctx, next) => (void Promise.resolve().then(() => ctx.controller.cancel()), next()),
}
const limited: Middleware = {
  name: 'limited',
  async around_llm_step(ctx, next) {
    const limit = deriveSignal(ctx.signal, { timeoutMs: 60_000 })
    ctx.signal = limit.signal
    try {
      return await next()
    } finally {
      limit.dispose()
    }
  },
}

/** Ways for a run to end, each in turn. */
const exits: readonly {
  readonly calls?: readonly string[]
  readonly error?: boolean
  readonly layers?: readonly Middleware[]
}[] = [
  {},
  { calls: ['quick', 'quick'], layers: [limited] },
  { calls: ['slow'] },
  { calls: ['deaf', 'quick'], layers: [cancelSoon] },
  { error: true },
  {
    error: true,
    layers: [{ name: 'again', on_error: (ctx, next) => (ctx.attempt < 3 ? retry({ delayMs: 5 }) : next()) }],
  },
  { layers: [{ name: 'no', before_turn: () => deny('no') }] },
  { calls: ['quick'], layers: [{ name: 'stop', after_tool: () => stop('enough') }] },
  { layers: [{ name: 'hangs', before_turn: (ctx) => (ctx.controller.cancel(), never) }] },
]

/** A run that ends in one of the ways. @returns its status */
async function runThat(
  exit: (typeof exits)[number],
  mode: Mode,
  signal: AbortSignal,
  more: readonly Middleware[] = [],
): Promise<string> {
  const { calls, error, layers = [] } = exit
  const model = scripted([
    { text: 'I will', ...(calls && { toolCalls: calls.map((name) => ({ name })) }), ...(error && { error: busy() }) },
    ...Array.from({ length: 3 }, () => (error ? { error: busy() } : { text: 'done' })),
  ])
  const controller = new RunController()
  const agent = new Agent({ model, tools, middleware: [...more, ...layers], logger: silent })
  const { events } = await execute(mode, agent, 'go', { signal, controller })
  const end = events.at(-1)
  if (controller.cancellation.waiting > 0) return 'something still waits'
  return end?.type === 'run_end' ? end.status : 'no end'
}

/** Lets the fake clock run until all is done. */
async function finished<T>(all: readonly Promise<T>[]): Promise<readonly T[]> {
  let done = false
  const values = Promise.all(all).finally(() => (done = true))
  while (!done) await vi.advanceTimersByTimeAsync(10)
  return values
}

describe('a thousand runs on one outside signal', () => {
  test.for(modes)('that end in every way leave no listener on it, no timer and nothing that waits (%s)', async (mode) => {
    const { signal } = new AbortController()
    setMaxListeners(0, signal)
    const statuses = new Set<string>()
    for (let batch = 0; batch < 5; batch++) {
      const runs = Array.from({ length: 100 }, (_, i) => runThat(exits[i % exits.length] ?? {}, mode, signal))
      for (const status of await finished(runs)) statuses.add(status)
      expect([getEventListeners(signal, 'abort').length, vi.getTimerCount()]).toEqual([0, 0])
    }
    expect([...statuses].toSorted()).toEqual(['cancelled', 'completed', 'denied', 'failed', 'stopped'])
  })

  test.for(modes)('never have more than one listener each (%s)', async (mode) => {
    const { signal } = new AbortController()
    let most = 0
    const count: Middleware = {
      name: 'count',
      on_event: (_, next) => ((most = Math.max(most, getEventListeners(signal, 'abort').length)), next()),
    }
    for (const exit of exits) await finished([runThat(exit, mode, signal, [count])])
    expect(most).toBe(1)
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test.for(modes)('side by side need one listener each, and leave none (%s)', async (mode) => {
    const outside = new AbortController()
    const agent = new Agent({ model: scripted(Array.from({ length: 20 }, () => ({ text: 'a', delayMs: 10 }))), logger: silent })
    const runs = Array.from({ length: 5 }, () => execute(mode, agent, 'go', { signal: outside.signal }))
    await vi.advanceTimersByTimeAsync(5)
    expect(getEventListeners(outside.signal, 'abort')).toHaveLength(5)
    outside.abort('all of them')
    const outcomes = await Promise.all(runs)
    expect(outcomes.map(({ error }) => (error as Error).name)).toEqual(Array.from({ length: 5 }, () => 'AbortError'))
    expect(getEventListeners(outside.signal, 'abort')).toHaveLength(0)
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('one long run', () => {
  test.for(modes)(
    'of fifty turns keeps one listener on the outside signal and no timer of a call that is over (%s)',
    async (mode) => {
      const outside = new AbortController()
      const counts: number[][] = []
      const count: Middleware = {
        name: 'count',
        after_turn: (_, next) => (counts.push([getEventListeners(outside.signal, 'abort').length, vi.getTimerCount()]), next()),
      }
      const controller = new RunController()
      const script = Array.from({ length: 50 }, () => ({ toolCalls: [{ name: 'quick' }] }))
      const agent = new Agent({
        model: scripted([...script, { text: 'done' }]),
        tools,
        maxTurns: 60,
        middleware: [count, limited],
      })
      const waiting: number[] = []
      const spy: Middleware = { name: 'spy', before_turn: (_, next) => (waiting.push(controller.cancellation.waiting), next()) }
      const { result } = await execute(mode, agent.use(spy), 'go', {
        signal: outside.signal,
        controller,
        session: memorySession(),
      })
      expect(result).toMatchObject({ status: 'completed', turns: 51 })
      expect(counts).toEqual(Array.from({ length: 51 }, () => [1, 0]))
      expect(new Set(waiting)).toEqual(new Set([0]))
    },
  )
})
