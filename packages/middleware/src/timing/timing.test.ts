import { Agent, defineTool } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { exits, modes, take } from '../testing/exits.ts'
import { timing } from './timing.ts'
import type { ToolTiming } from './timing.ts'

/** A tool that takes as many milliseconds, of a clock that the test turns, as it is told; the longest ends last. */
function clockwork() {
  let now = 0
  const asleep: { readonly until: number; wake(): void }[] = []
  const tick = async (): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve))
    const [first] = asleep.toSorted((a, b) => a.until - b.until)
    if (!first) return
    now = first.until
    asleep.splice(asleep.indexOf(first), 1)
    first.wake()
    return tick()
  }
  const nap = defineTool({
    name: 'nap',
    description: 'Sleeps.',
    input: z.object({ ms: z.number() }),
    execute: ({ ms }) => new Promise<void>((resolve) => asleep.push({ until: now + ms, wake: resolve })),
  })
  return { nap, tick, runtime: { now: () => now } }
}

describe.for(modes)('timing (%s)', (mode) => {
  test.for(exits)('leaves no timer open when a call is $name', async (exit) => {
    const timings: ToolTiming[] = []
    const clock = timing({ report: (each) => timings.push(each) })
    let openAtEnd: number | undefined
    const watch: Middleware = {
      name: 'watch',
      on_event(ctx, next) {
        if (ctx.event.type === 'run_end') openAtEnd = clock.openTimers
        return next()
      },
    }
    const { events } = await take(exit, mode, watch, clock)
    // Each result has closed its timer; the run's end has none left to sweep away.
    expect([openAtEnd, clock.openTimers]).toEqual([0, 0])
    const results = events.filter((event) => event.type === 'tool_result')
    expect(timings.map(({ callId, status }) => ({ callId, status }))).toEqual(
      results.map(({ callId, status }) => ({ callId, status })),
    )
  })

  test('a failing report is logged, and the run completes', async () => {
    const report = async (): Promise<never> => Promise.reject(new Error('disk full'))
    const { ended, logged } = await take({ name: 'ok' }, mode, timing({ report }))
    expect(ended).toBe('completed')
    expect(logged).toEqual([['error', "middleware 'timing' failed at on_event:", new Error('disk full')]])
  })

  test('a layer further out that loses a result leaves no timer open', async () => {
    const clock = timing()
    const broken: Middleware = {
      name: 'broken',
      on_event(ctx, next) {
        if (ctx.event.type === 'tool_result') throw new Error('lost')
        return next()
      },
    }
    const { ended } = await take({ name: 'ok' }, mode, broken, clock)
    expect(ended).toBe('failed')
    expect(clock.openTimers).toBe(0)
  })
})

describe('timing', () => {
  test('pairs begin and end under parallel calls and leaves no open timer', async () => {
    const { nap, tick, runtime } = clockwork()
    const timings: ToolTiming[] = []
    const clock = timing({ report: (each) => timings.push(each) })
    const toolCalls = [30, 10, 20].map((ms, i) => ({ name: 'nap', args: { ms }, id: `call_${i}` }))
    const agent = new Agent({ model: scripted([{ toolCalls }, { text: 'Rested.' }]), tools: [nap], runtime }).use(clock)
    const run = agent.run('sleep')
    await new Promise((resolve) => setTimeout(resolve))
    expect(clock.openTimers).toBe(3)
    await tick()
    await run
    expect(timings.map(({ callId, durationMs }) => [callId, durationMs])).toEqual([
      ['call_1', 10],
      ['call_2', 20],
      ['call_0', 30],
    ])
    expect(clock.openTimers).toBe(0)
  })

  test('keeps runs apart that go on side by side and name their calls alike', async () => {
    const { nap, tick, runtime } = clockwork()
    const timings: ToolTiming[] = []
    const clock = timing({ report: (each) => timings.push(each) })
    const model = scripted(
      Array.from({ length: 4 }, () => ({ messages }) => {
        const [first] = messages
        const ms = first?.role === 'user' && first.content[0]?.type === 'text' ? Number(first.content[0].text) : 0
        return messages.length > 1 ? { text: 'Rested.' } : { toolCalls: [{ name: 'nap', args: { ms }, id: 'call_1' }] }
      }),
    )
    const agent = new Agent({ model, tools: [nap], runtime }).use(clock)
    const runs = ['50', '20'].map((ms) => agent.run(ms))
    await new Promise((resolve) => setTimeout(resolve))
    expect(clock.openTimers).toBe(2)
    await tick()
    const [slow, fast] = await Promise.all(runs)
    expect(timings.map(({ runId, callId, durationMs }) => [runId, callId, durationMs])).toEqual([
      [fast?.runId, 'call_1', 20],
      [slow?.runId, 'call_1', 50],
    ])
    expect(clock.openTimers).toBe(0)
  })

  test("writes to the run's logger when nobody asks for a report", async () => {
    const lines: unknown[] = []
    const logger = { ...console, info: (...data: unknown[]) => lines.push(...data) }
    const { nap, tick, runtime } = clockwork()
    const model = scripted([{ toolCalls: [{ name: 'nap', args: { ms: 7 } }] }, { text: 'Rested.' }])
    const run = new Agent({ model, tools: [nap], runtime, logger }).use(timing()).run('sleep')
    await tick()
    await run
    expect(lines).toEqual(['nap ok in 7 ms'])
  })
})
