import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Agent, deny, KoagentError, raise, replace_result, retry, stop, textOf, ToolError } from '@koagent/core'
import type { AnyMiddleware, Middleware, ToolResult } from '@koagent/core'
import { scripted } from '../scripted.ts'
import { callTools, settled, tool } from '../testing/calls.ts'
import { execute, modes } from '../testing/kit.ts'

const quiet = { ...console, error: () => {} }
const boom = new Error('boom')

function failing(times = Infinity, error: unknown = boom) {
  let runs = 0
  const work = tool('work', () => {
    if (++runs <= times) throw error
    return `run ${runs}`
  })
  return { tools: [work], count: () => runs }
}

describe.each(modes)('a tool that fails (%s)', (mode) => {
  const failures: [string, () => unknown, RegExp][] = [
    ['throws an Error', () => Promise.reject(boom), /^boom$/],
    ['throws an Error without a message', () => Promise.reject(new RangeError()), /^RangeError$/],
    [
      'throws in the tick of its call',
      () => {
        throw boom
      },
      /^boom$/,
    ],
    ['throws a string', () => Promise.reject('oops'), /oops/],
    ['throws undefined', () => Promise.reject(undefined), /undefined/],
    ['throws null', () => Promise.reject(null), /null/],
    ['throws what looks like a cancel', () => Promise.reject(new DOMException('aborted', 'AbortError')), /^aborted$/],
    [
      'is a generator that throws',
      async function* () {
        yield 1
        throw boom
      },
      /^boom$/,
    ],
  ]
  test.for(failures)('%s: the model gets an error result, and the run goes on', async ([, run, text]) => {
    const called = await callTools(mode, { calls: ['work'], tools: [tool('work', run)] })
    expect(called.texts[0]).toMatch(text)
    expect(called.results[0]?.isError).toBe(true)
    expect(called.of('tool_result')[0]).toMatchObject({ status: 'error', error: { toolName: 'work', callId: 'c0' } })
    expect(called.result).toMatchObject({ status: 'completed', text: 'done' })
    expect(called.of('error')).toEqual([])
  })

  test('shows the throw itself to around_tool, and its error result to after_tool', async () => {
    let seen: unknown
    let result: ToolResult | undefined
    const { tools } = failing()
    await callTools(mode, {
      calls: ['work'],
      tools,
      middleware: [
        {
          name: 'see',
          async around_tool(_, next) {
            try {
              return await next()
            } catch (error) {
              seen = error
              throw error
            }
          },
          after_tool: (ctx, next) => ((result = ctx.result), next()),
        },
      ],
    })
    expect(seen).toBe(boom)
    expect(result).toEqual({ content: [{ type: 'text', text: 'boom' }], isError: true })
  })

  test('may be given a result by a layer around it; then on_error is not asked', async () => {
    let asked = 0
    const { tools } = failing()
    const called = await callTools(mode, {
      calls: ['work'],
      tools,
      middleware: [
        {
          name: 'rescue',
          around_tool: (_, next) =>
            next().catch(() => ({ content: [{ type: 'text' as const, text: 'rescued' }], isError: false })),
          on_error: (_, next) => (asked++, next()),
        },
      ],
    })
    expect(called.texts).toEqual(['rescued'])
    expect(called.status).toEqual({ c0: 'ok' })
    expect(asked).toBe(0)
  })

  test('counts as well when after_tool makes a good result of it, and the other way round', async () => {
    const called = await callTools(mode, {
      calls: ['bad', 'good'],
      tools: [failing().tools[0] as never, tool('good')].map((one, n) => ({ ...one, name: n ? 'good' : 'bad' })),
      middleware: [{ name: 'turn', after_tool: (ctx) => ({ ...ctx.result, isError: !ctx.result.isError }) }],
    })
    expect(called.status).toEqual({ c0: 'ok', c1: 'error' })
    expect(called.results.map(({ isError }) => isError)).toEqual([false, true])
  })
})

describe.each(modes)('on_error and a tool (%s)', (mode) => {
  test('is asked once for each failure, with its attempt and call', async () => {
    const asked: unknown[] = []
    const { tools } = failing()
    await callTools(mode, {
      calls: ['work'],
      tools,
      middleware: [
        {
          name: 'see',
          on_error(ctx, next) {
            asked.push([ctx.phase, ctx.attempt, ctx.toolName, ctx.toolCall?.callId, ctx.error])
            return ctx.attempt < 3 ? retry() : next()
          },
        },
      ],
    })
    expect(asked).toEqual([1, 2, 3].map((attempt) => ['tool', attempt, 'work', 'c0', boom]))
  })

  test('retry makes a new pass after its delay, under the same idempotency key', async () => {
    const slept: number[] = []
    const seen: [number, string][] = []
    const keys: string[] = []
    let runs = 0
    const called = await callTools(mode, {
      calls: ['work'],
      tools: [tool('work', (_, ctx) => (keys.push(ctx.idempotencyKey), ++runs < 3 ? Promise.reject(boom) : 'at last'))],
      agent: { runtime: { sleep: async (ms) => void slept.push(ms) } },
      middleware: [
        {
          name: 'retry',
          on_error: (ctx) => retry({ delayMs: ctx.attempt * 100, reason: 'once more' }),
          around_tool: (ctx, next) => (seen.push([ctx.attempt, ctx.idempotencyKey]), next()),
        },
      ],
    })
    expect(called.texts).toEqual(['at last'])
    expect(slept).toEqual([100, 200])
    expect(seen.map(([attempt]) => attempt)).toEqual([1, 2, 3])
    expect(new Set([...keys, ...seen.map(([, key]) => key)]).size).toBe(1)
    expect(called.of('retry')).toMatchObject([
      { callId: 'c0', toolName: 'work', attempt: 2, delayMs: 100, reason: 'once more' },
      { callId: 'c0', toolName: 'work', attempt: 3, delayMs: 200, reason: 'once more' },
    ])
    expect(called.of('tool_result')).toHaveLength(1)
  })

  test('each attempt gets arguments of its own', async () => {
    const ran: unknown[] = []
    const called = await callTools(mode, {
      calls: [{ name: 'work', args: { list: [1] } }],
      tools: [
        tool('work', (args) => {
          ran.push(structuredClone(args))
          ;(args['list'] as number[]).push(2)
          if (ran.length < 3) throw boom
        }),
      ],
      middleware: [{ name: 'retry', on_error: () => retry() }],
    })
    expect(ran).toEqual([{ list: [1] }, { list: [1] }, { list: [1] }])
    expect(called.of('tool_result')[0]?.args).toEqual({ list: [1] })
  })

  const forEver: [string, Middleware][] = [
    ['on_error', { name: 'retry', on_error: () => retry() }],
    ['after_tool', { name: 'retry', after_tool: () => retry() }],
    ['both', { name: 'retry', on_error: (ctx) => (ctx.attempt % 2 ? retry() : undefined), after_tool: () => retry() }],
  ]
  test.for(forEver)('a retry for ever, by %s, ends after ten attempts with what the last came to', async ([, layer]) => {
    const { tools, count } = failing()
    const both: Middleware = {
      ...layer,
      ...(layer.on_error && { on_error: (ctx, next) => layer.on_error?.(ctx, next) ?? next() }),
    }
    const called = await callTools(mode, { calls: ['work'], tools, middleware: [both] })
    expect(count()).toBe(10)
    expect(called.texts).toEqual(['boom'])
    expect(called.of('retry')).toHaveLength(9)
    expect(called.result?.status).toBe('completed')
  })

  test('replace_result is the result, and passes after_tool', async () => {
    let seen: string | undefined
    const { tools } = failing()
    const called = await callTools(mode, {
      calls: ['work'],
      tools,
      middleware: [
        {
          name: 'fallback',
          on_error: () => replace_result({ n: 1 }),
          after_tool: (ctx, next) => ((seen = textOf(ctx.result)), next()),
        },
      ],
    })
    expect(called.texts).toEqual(['{"n":1}'])
    expect(called.results[0]).toMatchObject({ isError: false, value: { n: 1 } })
    expect(seen).toBe('{"n":1}')
  })

  const other = new Error('other')
  const raised: [string, (error: Error) => unknown, (error: unknown) => void][] = [
    ['the failure itself', (error) => error, (error) => expect(error).toBe(boom)],
    ['another error', () => other, (error) => expect(error).toBe(other)],
    ['a string', () => 'text', (error) => expect(error).toBeInstanceOf(KoagentError)],
  ]
  test.for(raised)('raise fails the run with %s; the call is answered, and one error is told', async ([, what, check]) => {
    const { tools, count } = failing()
    let asked = 0
    const called = await callTools(mode, {
      calls: ['work', 'work'],
      tools,
      middleware: [{ name: 'strict', on_error: (ctx) => (asked++, raise(what(ctx.error))) }],
      agent: { toolConcurrency: 1 },
    })
    check(called.error)
    expect(called.results.map(({ callId }) => callId)).toEqual(['c0', 'c1'])
    expect(count()).toBe(1)
    expect(asked).toBe(1)
    expect(called.of('error')).toHaveLength(1)
    expect(called.model.calls).toHaveLength(1)
  })

  test("an on_error layer's own failure fails the run and is not asked about", async () => {
    const { tools } = failing()
    let asked = 0
    const own = new Error('own')
    const called = await callTools(mode, {
      calls: ['work'],
      tools,
      middleware: [
        {
          name: 'broken',
          on_error() {
            asked++
            throw own
          },
        },
      ],
    })
    expect(called.error).toBe(own)
    expect(asked).toBe(1)
  })
})

describe.each(modes)('around_tool (%s)', (mode) => {
  const broken = (errors: Middleware['errors'], before: boolean): Middleware => ({
    name: 'broken',
    ...(errors && { errors }),
    async around_tool(_, next) {
      if (!before) await next()
      throw boom
    },
  })

  test.for([true, false])("a layer's own failure fails the run under 'raise' (before next(): %s)", async (before) => {
    let asked = 0
    let ran = 0
    const called = await callTools(mode, {
      calls: ['work'],
      tools: [tool('work', () => ++ran)],
      middleware: [
        { name: 'ask', on_error: (ctx, next) => (ctx.phase === 'hook' && asked++, next()) },
        broken(undefined, before),
      ],
    })
    expect(called.error).toBe(boom)
    expect(ran).toBe(before ? 0 : 1)
    expect(called.status).toEqual({ c0: before ? 'error' : 'withheld' })
    expect(asked).toBe(1)
    expect(called.of('hook_error')).toMatchObject([{ middleware: 'broken', point: 'around_tool', callId: 'c0' }])
    expect(called.of('error')).toHaveLength(1)
  })

  for (const errors of ['log', 'ignore'] as const) {
    test.for([true, false])(`a layer that fails under '${errors}' counts as absent (before next(): %s)`, async (before) => {
      let ran = 0
      const called = await callTools(mode, {
        calls: ['work'],
        tools: [tool('work', () => ++ran)],
        middleware: [broken(errors, before)],
        agent: { logger: quiet },
      })
      expect(called.texts).toEqual(['1'])
      expect(called.status).toEqual({ c0: 'ok' })
      expect(ran).toBe(1)
      expect(called.of('hook_error')).toHaveLength(1)
    })
  }

  test("may answer in the tool's place, and what it gives becomes plain and never empty", async () => {
    let executed: boolean | undefined
    let ran = 0
    const odd = { content: [], isError: false, value: { big: 10n, at: new Date(0) }, extra: 1 } as never as ToolResult
    const called = await callTools(mode, {
      calls: ['work'],
      tools: [tool('work', () => ++ran)],
      middleware: [{ name: 'cache', around_tool: () => odd, after_tool: (ctx, next) => ((executed = ctx.executed), next()) }],
    })
    expect(ran).toBe(0)
    expect(executed).toBe(false)
    expect(called.results[0]).toEqual({
      type: 'tool_result',
      callId: 'c0',
      toolName: 'work',
      content: [{ type: 'text', text: '(no output)' }],
      isError: false,
      value: { big: '10', at: '1970-01-01T00:00:00.000Z' },
    })
  })

  test('a signal that it puts in place reaches the tool, and its abort ends the call as an ordinary error', async () => {
    const limit = new AbortController()
    const late = new Error('too slow')
    let aborted = false
    const called = await callTools(mode, {
      calls: ['work', 'work'],
      tools: [
        tool('work', (_, ctx) => {
          if (ctx.callId === 'c1') return 'quick'
          ctx.signal.addEventListener('abort', () => (aborted = true))
          limit.abort(late)
          return new Promise(() => {})
        }),
      ],
      middleware: [
        { name: 'limit', around_tool: (ctx, next) => (ctx.toolCall.callId === 'c0' && (ctx.signal = limit.signal), next()) },
      ],
    })
    expect(called.texts).toEqual(['too slow', 'quick'])
    expect(aborted).toBe(true)
    expect(called.result?.status).toBe('completed')
  })

  test('a signal that is aborted already keeps the tool from starting', async () => {
    let ran = 0
    const called = await callTools(mode, {
      calls: ['work'],
      tools: [tool('work', () => ++ran)],
      middleware: [{ name: 'limit', around_tool: (ctx, next) => ((ctx.signal = AbortSignal.abort(boom)), next()) }],
    })
    expect(ran).toBe(0)
    expect(called.texts).toEqual(['boom'])
  })
})

describe.each(modes)('after_tool (%s)', (mode) => {
  const broken: Middleware = {
    name: 'check',
    after_tool(ctx, next) {
      if (ctx.toolName === 'bad') throw boom
      return next()
    },
  }

  test('that fails: the result is withheld, stored so, and the run rejects with the same error', async () => {
    const called = await callTools(mode, { calls: ['bad'], tools: [tool('bad', () => 'secret')], middleware: [broken] })
    expect(called.error).toBe(boom)
    expect(called.status).toEqual({ c0: 'withheld' })
    expect(called.texts[0]).toMatch(/withheld/)
    expect(JSON.stringify([called.session.messages, called.events])).not.toContain('secret')
    expect(called.of('error')).toHaveLength(1)
    expect(called.of('hook_error')).toMatchObject([{ middleware: 'check', point: 'after_tool', callId: 'c0' }])
    expect(called.model.calls).toHaveLength(1)
  })

  test('that failed: the next run goes on from there and executes nothing again', async () => {
    let ran = 0
    const tools = [tool('bad', () => ++ran)]
    const { session } = await callTools(mode, { calls: ['bad'], tools, middleware: [broken] })
    const model = scripted([{ text: 'I see.' }])
    const outcome = await execute(mode, new Agent({ model, tools }), 'well?', { session })
    expect(outcome.result?.text).toBe('I see.')
    expect(ran).toBe(1)
    expect(model.calls[0]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })

  test.for([1, 3])(
    'that fails for one of many: running siblings finish, none starts (concurrency %i)',
    async (toolConcurrency) => {
      const ran: string[] = []
      const run = (name: string) => tool(name, async (_, ctx) => (ran.push(ctx.callId), await settled(), name))
      const called = await callTools(mode, {
        calls: ['bad', 'good', 'good', 'good', 'bad'],
        tools: [tool('bad', (_, ctx) => void ran.push(ctx.callId)), run('good')],
        middleware: [broken],
        agent: { toolConcurrency },
      })
      expect(called.error).toBe(boom)
      if (toolConcurrency === 1) expect(ran).toEqual(['c0'])
      expect(ran).not.toContain('c4')
      expect(called.results.map(({ callId }) => callId)).toEqual(['c0', 'c1', 'c2', 'c3', 'c4'])
      for (const id of ['c1', 'c2', 'c3', 'c4']) expect(called.status[id]).toBe(ran.includes(id) ? 'ok' : 'error')
      expect(called.of('error')).toHaveLength(1)
    },
  )

  test('that fails for several: the run rejects with the first in call order, whichever came first', async () => {
    const errors = [new Error('first'), new Error('second')]
    const called = await callTools(mode, {
      calls: ['slow', 'quick'],
      tools: [tool('slow', settled), tool('quick')],
      middleware: [
        {
          name: 'check',
          after_tool(ctx) {
            throw ctx.toolName === 'slow' ? errors[0] : errors[1]
          },
        },
      ],
    })
    expect(called.told).toEqual(['c1', 'c0'])
    expect(called.error).toBe(errors[0])
    expect(called.of('error')).toHaveLength(1)
  })

  test.for(['log', 'ignore'] as const)("that fails under '%s' counts as absent: nothing is withheld", async (errors) => {
    const called = await callTools(mode, {
      calls: ['bad'],
      tools: [tool('bad', () => 'open')],
      middleware: [{ ...broken, errors }],
      agent: { logger: quiet },
    })
    expect(called.texts).toEqual(['open'])
    expect(called.result?.status).toBe('completed')
  })

  test('retry executes again and asks after_tool again; notes of the attempt that was thrown away are lost with it', async () => {
    let runs = 0
    const called = await callTools(mode, {
      calls: ['work'],
      tools: [tool('work', () => ++runs)],
      middleware: [
        {
          name: 'check',
          after_tool(ctx, next) {
            ctx.addContext(`saw ${textOf(ctx.result)}`)
            return textOf(ctx.result) === '2' ? next() : retry({ reason: 'not two' })
          },
        },
      ],
    })
    expect(runs).toBe(2)
    expect(called.results[0]?.content).toEqual([
      { type: 'text', text: '2' },
      { type: 'text', text: 'saw 2', added: true },
    ])
    expect(called.of('retry')).toMatchObject([{ attempt: 2, reason: 'not two' }])
  })

  test('stop ends the run after the batch, without another model call and without on_stop', async () => {
    let asked = 0
    const called = await callTools(mode, {
      calls: ['final', 'work'],
      tools: [tool('final'), tool('work', settled)],
      middleware: [
        {
          name: 'end',
          on_stop: (_, next) => (asked++, next()),
          after_tool: (ctx, next) => (ctx.toolName === 'final' ? stop('enough') : next()),
        },
      ],
    })
    expect(called.result).toMatchObject({ status: 'stopped', reason: 'enough' })
    expect(called.status['c0']).toBe('ok')
    expect(called.texts[0]).toBe('final ran')
    expect(called.model.calls).toHaveLength(1)
    expect(asked).toBe(0)
  })

  test('is not blamed for an event layer that fails meanwhile', async () => {
    let seen = 0
    const called = await callTools('run', {
      calls: ['work'],
      tools: [tool('work', async (_, ctx) => (await ctx.progress(1), 'ok'))],
      middleware: [
        {
          name: 'watch',
          on_event: (ctx, next) => {
            if (ctx.event.type === 'tool_progress') throw boom
            return next()
          },
        },
        { name: 'see', after_tool: (_, next) => (seen++, next()) },
      ],
    })
    expect(called.error).toBe(boom)
    expect(seen).toBe(1)
    expect(called.texts).toEqual(['ok'])
  })
})

describe.each(modes)('stop at before_tool (%s)', (mode) => {
  const stops: [string, Middleware, string][] = [
    ['with its reason', { name: 'end', before_tool: (ctx, next) => (ctx.toolName === 'end' ? stop('over') : next()) }, 'over'],
    [
      'with a result',
      { name: 'end', before_tool: (ctx, next) => (ctx.toolName === 'end' ? stop('over', { bye: 1 }) : next()) },
      '{"bye":1}',
    ],
  ]
  test.for(stops)('answers the call %s, lets earlier ones finish and later ones not start', async ([, end, text]) => {
    const ran: string[] = []
    const passed: string[] = []
    let asked = 0
    const called = await callTools(mode, {
      calls: ['work', 'end', 'work'],
      tools: [
        tool('work', async (_, ctx) => (await settled(), ran.push(ctx.callId), 'ok')),
        tool('end', (_, ctx) => void ran.push(ctx.callId)),
      ],
      middleware: [
        {
          name: 'see',
          after_tool: (ctx, next) => (passed.push(ctx.toolCall.callId), next()),
          on_stop: (_, next) => (asked++, next()),
        },
        end,
      ],
    })
    expect(ran).toEqual(['c0'])
    expect(passed).toEqual(['c0'])
    expect(called.texts).toEqual(['ok', text, 'over'])
    expect(called.status).toEqual({ c0: 'ok', c1: 'blocked', c2: 'blocked' })
    expect(called.result).toMatchObject({ status: 'stopped', reason: 'over' })
    expect(called.model.calls).toHaveLength(1)
    expect(asked).toBe(0)
  })

  test('stops the run whatever becomes of the call', async () => {
    const called = await callTools(mode, {
      calls: ['end'],
      tools: [tool('end')],
      middleware: [
        { name: 'block', before_tool: (_, next) => next().then(() => deny('no')) },
        { name: 'end', before_tool: () => stop('over') },
      ],
    })
    expect(called.texts).toEqual(['Blocked by hook: no'])
    expect(called.result).toMatchObject({ status: 'stopped', reason: 'over' })
  })
})

describe.each(modes)('time limits and outputs (%s)', (mode) => {
  test('timeoutMs makes an error result that names tool and limit, and on_error hears of it', async () => {
    vi.useFakeTimers()
    try {
      let error: Error | undefined
      let reason: unknown
      const hang = tool(
        'hang',
        (_, ctx) => (ctx.signal.addEventListener('abort', () => (reason = ctx.signal.reason)), new Promise(() => {})),
        { timeoutMs: 5_000 },
      )
      const run = callTools(mode, {
        calls: ['hang'],
        tools: [hang],
        middleware: [{ name: 'see', on_error: (ctx, next) => ((error = ctx.error), next()) }],
      })
      await vi.advanceTimersByTimeAsync(5_000)
      const called = await run
      expect(called.texts).toEqual(["Tool 'hang' timed out after 5000 ms"])
      expect(error).toBeInstanceOf(ToolError)
      expect(reason).toBe(error)
      expect(called.result?.status).toBe('completed')
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  test('a tool that is done in time leaves no timer', async () => {
    vi.useFakeTimers()
    try {
      await callTools(mode, {
        calls: ['quick', 'bad'],
        tools: [tool('quick', undefined, { timeoutMs: 5_000 }), tool('bad', () => Promise.reject(boom), { timeoutMs: 5_000 })],
      })
      expect(vi.getTimerCount()).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  test('an output that does not fit its schema is an error; one that does is used in output form', async () => {
    const asked: Error[] = []
    const output = z.object({ n: z.number(), unit: z.string().default('m') })
    const middleware: AnyMiddleware[] = [{ name: 'see', on_error: (ctx, next) => (asked.push(ctx.error), next()) }]
    const called = await callTools(mode, {
      calls: ['bad', 'good'],
      tools: [tool('bad', () => ({ n: 'x' }), { output }), tool('good', () => ({ n: 1, more: 2 }), { output })],
      middleware,
    })
    expect(called.texts[0]).toMatch(/^Tool 'bad' returned an invalid value: .*n/)
    expect(called.results[1]?.value).toEqual({ n: 1, unit: 'm' })
    expect(called.status).toEqual({ c0: 'error', c1: 'ok' })
    expect(asked).toHaveLength(1)
    expect(asked[0]).toBeInstanceOf(ToolError)
  })
})
