import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Agent, defineTool, memorySession, retry, RunController, stateKey } from '@koagent/core'
import type { Tool, ToolCtx } from '@koagent/core'
import { bufferSize } from '../event/queue.ts'
import { scripted } from '../scripted.ts'
import { callTools, deferred, settled, tool } from '../testing/calls.ts'
import { modes } from '../testing/kit.ts'

const count = stateKey('test/count', z.number().default(0))

describe.each(modes)('what a tool holds in its hands (%s)', (mode) => {
  test('who it is, where it is, and what the caller gave', async () => {
    let seen: Record<string, unknown> = {}
    const session = memorySession()
    const called = await callTools(mode, {
      calls: ['work'],
      tools: [
        tool('work', (_, ctx) => {
          const { callId, toolName, runId, turn, metadata, idempotencyKey } = ctx
          seen = { callId, toolName, runId, turn, metadata, idempotencyKey, session: ctx.session.id, aborted: ctx.signal.aborted }
          expect(Object.isFrozen(ctx)).toBe(true)
          expect(ctx.session).not.toHaveProperty('append')
          expect(() => ((metadata as { user: string }).user = 'eve')).toThrow(TypeError)
        }),
      ],
      run: { session, metadata: { user: 'ann' } },
    })
    const runId = called.result?.runId
    expect(seen).toEqual({
      callId: 'c0',
      toolName: 'work',
      runId,
      turn: 0,
      metadata: { user: 'ann' },
      idempotencyKey: `${runId}:0:0`,
      session: session.id,
      aborted: false,
    })
  })

  test('keys of its own for every call', async () => {
    const keys: string[] = []
    await callTools(mode, {
      calls: ['work', 'work'],
      next: [{ toolCalls: [{ name: 'work' }] }, { text: 'done' }],
      tools: [tool('work', (_, ctx) => void keys.push(ctx.idempotencyKey))],
    })
    expect(new Set(keys).size).toBe(3)
  })

  test('the state of the run, shared with its layers', async () => {
    let last = 0
    await callTools(mode, {
      calls: ['work', 'work'],
      tools: [tool('work', (_, ctx) => (ctx.set(count, ctx.get(count) + 1), ctx.update(count, (n) => n + 10)))],
      middleware: [
        {
          name: 'see',
          before_run: (ctx, next) => (ctx.set(count, 100), next()),
          after_run: (ctx, next) => ((last = ctx.get(count)), next()),
        },
      ],
    })
    expect(last).toBe(122)
  })

  test('progress and events of its own, in order and by its name', async () => {
    const called = await callTools(mode, {
      calls: ['work', 'steps'],
      tools: [
        tool('work', async (_, ctx) => {
          await ctx.progress({ n: 1n })
          ctx.emit('note', { text: 'hi' })
          ctx.emit('bare', undefined)
          void ctx.progress('last')
        }),
        tool('steps', async function* () {
          yield 'one'
          yield { two: 2 }
          return 'three'
        }),
      ],
    })
    const by = (id: string) =>
      called.events.filter((event) => 'callId' in event && event.callId === id && /progress|custom/.test(event.type))
    expect(by('c0')).toMatchObject([
      { type: 'tool_progress', toolName: 'work', data: { n: '1' } },
      { type: 'custom', name: 'note', data: { text: 'hi' } },
      { type: 'custom', name: 'bare' },
      { type: 'tool_progress', data: 'last' },
    ])
    expect(by('c1')).toMatchObject([{ type: 'tool_progress', toolName: 'steps', data: 'one' }, { data: { two: 2 } }])
    expect(called.texts).toEqual(['(no output)', 'three'])
  })
})

describe.each(modes)('a straggler (%s)', (mode) => {
  /** Ends the call early, then lets the tool go on. */
  const early = ['cancel', 'timeout'] as const
  test.for(early)('after a %s: what it emits, sets or returns is dropped, and its result stays what it was', async (how) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const goOn = deferred<void>()
      const controller = new RunController()
      const seen: unknown[] = []
      let state: (() => number) | undefined
      const late = tool(
        'late',
        async (_, ctx: ToolCtx) => {
          state = () => ctx.get(count)
          await goOn.promise
          ctx.emit('late', 1)
          seen.push(ctx.progress('late'))
          ctx.set(count, 5)
          seen.push(ctx.update(count, () => 6))
          return 'late'
        },
        how === 'timeout' ? { timeoutMs: 100 } : {},
      )
      const run = callTools(mode, { calls: ['late'], tools: [late], run: { controller } })
      await settled()
      if (how === 'cancel') controller.cancel()
      await vi.advanceTimersByTimeAsync(1_000)
      const called = await run
      const told = called.events.length
      goOn.resolve()
      await settled()
      expect(seen).toEqual([undefined, 0])
      expect(state?.()).toBe(0)
      expect(called.events).toHaveLength(told)
      expect(called.of('custom')).toEqual([])
      expect(called.status).toEqual({ c0: how === 'cancel' ? 'cancelled' : 'error' })
      expect(JSON.stringify(called.session.messages)).not.toContain('"late"}')
    } finally {
      vi.useRealTimers()
    }
  })

  test('of a call that timed out is not heard while the run goes on', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const [goOn, hold] = [deferred<void>(), deferred()]
      const late = tool(
        'late',
        async (_, ctx) => {
          await goOn.promise
          ctx.emit('late', 1)
          await ctx.progress('late')
        },
        { timeoutMs: 100 },
      )
      const run = callTools(mode, { calls: ['late', 'hold'], tools: [late, tool('hold', () => hold.promise)] })
      await settled()
      await vi.advanceTimersByTimeAsync(100)
      goOn.resolve()
      await settled()
      hold.resolve('held')
      const called = await run
      expect(called.status).toEqual({ c0: 'error', c1: 'ok' })
      expect([...called.of('custom'), ...called.of('tool_progress')]).toEqual([])
    } finally {
      vi.useRealTimers()
    }
  })

  test('that is still before its start when its time is up does not start', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      const [slow, hold] = [deferred<void>(), deferred()]
      let validations = 0
      let ran = 0
      // Checked before the gates, and again for the second attempt.
      const slowToCheck = {
        '~standard': {
          version: 1 as const,
          vendor: 'test',
          validate: async (value: unknown) => (++validations === 1 || (await slow.promise), { value }),
          jsonSchema: { input: () => ({ type: 'object' }) },
        },
      }
      const flaky = defineTool({
        name: 'flaky',
        description: '',
        input: slowToCheck,
        timeoutMs: 100,
        execute() {
          ran++
          throw new Error('boom')
        },
      })
      const run = callTools(mode, {
        calls: ['flaky', 'hold'],
        tools: [flaky, tool('hold', () => hold.promise)],
        middleware: [{ name: 'again', on_error: (ctx, next) => (ctx.attempt === 1 ? retry() : next()) }],
      })
      await settled()
      await vi.advanceTimersByTimeAsync(100)
      slow.resolve()
      await settled()
      hold.resolve('held')
      expect((await run).texts[0]).toMatch(/timed out/)
      expect([validations, ran]).toEqual([2, 1])
    } finally {
      vi.useRealTimers()
    }
  })

  test('a generator that is given up is closed, does no further step, and its failing cleanup harms nobody', async () => {
    const steps: string[] = []
    const between = deferred<void>()
    const controller = new RunController()
    const work = tool('work', async function* () {
      try {
        steps.push('first')
        await between.promise
        yield 1
        steps.push('second')
        yield 2
      } finally {
        steps.push('closed')
        // oxlint-disable-next-line no-unsafe-finally
        throw new Error('cleanup')
      }
    })
    const run = callTools(mode, { calls: ['work'], tools: [work], run: { controller } })
    await settled()
    controller.cancel()
    const called = await run
    between.resolve()
    await settled()
    expect(steps).toEqual(['first', 'closed'])
    expect(called.status).toEqual({ c0: 'cancelled' })
  })
})

describe('a slow consumer', () => {
  type Report = (n: number) => void
  const workers: [string, (made: Report) => Tool][] = [
    [
      'a tool that awaits its progress',
      (made) =>
        tool('work', async (_, ctx) => {
          for (let n = 0; n < 500; n++) {
            made(n)
            await ctx.progress(n)
          }
        }),
    ],
    [
      'a generator',
      (made) =>
        tool('work', async function* () {
          for (let n = 0; n < 500; n++) {
            made(n)
            yield n
          }
        }),
    ],
  ]
  test.for(workers)('holds %s at the size of the buffer', async ([, worker]) => {
    let made = 0
    const model = scripted([{ toolCalls: [{ name: 'work' }] }, { text: 'done' }])
    const run = new Agent({ model, tools: [worker((n) => (made = n))] }).stream('go')
    for await (const event of run) {
      if (event.type !== 'tool_progress') continue
      await settled()
      expect(made - (event.data as number)).toBeLessThanOrEqual(bufferSize + 2)
      if (event.data === 150) break
    }
    await expect(run.result).rejects.toMatchObject({ name: 'AbortError' })
  })
})
