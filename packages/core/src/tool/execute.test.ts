import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { textOf, ToolError } from '@koagent/core'
import type { AnyMiddleware, Middleware, ToolResult } from '@koagent/core'
import { callTools, tool } from '../testing/calls.ts'
import { modes } from '../testing/kit.ts'

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

  test('tells in its event no more than the layers and the cap left of its message, and which call it was', async () => {
    const shared = new TypeError(`secret ${'x'.repeat(1_000)}`)
    const work = tool('work', () => Promise.reject(shared), { maxResultChars: 200 })
    const called = await callTools(mode, {
      calls: ['work', 'work'],
      tools: [work],
      middleware: [
        {
          name: 'redact',
          after_tool: (ctx) => ({
            ...ctx.result,
            content: [{ type: 'text', text: textOf(ctx.result).replace('secret', '***') }],
          }),
        },
      ],
    })
    for (const [n, event] of called.of('tool_result').entries()) {
      expect(event.error).toMatchObject({ name: 'TypeError', callId: `c${n}`, toolName: 'work', message: called.texts[n] })
    }
    expect(JSON.stringify(called.events)).not.toContain('secret')
    expect(called.texts[0]).toHaveLength(200)
  })

  test('while an event layer has failed is told by its own failure', async () => {
    const called = await callTools('run', {
      calls: ['work'],
      tools: [tool('work', async (_, ctx) => (await ctx.progress(1), Promise.reject(boom)))],
      middleware: [
        {
          name: 'watch',
          on_event(ctx, next) {
            if (ctx.event.type === 'tool_progress') throw new Error('watch')
            return next()
          },
        },
      ],
    })
    expect(called.error).toMatchObject({ message: 'watch' })
    expect(called.texts).toEqual(['boom'])
    expect(called.status).toEqual({ c0: 'error' })
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

describe.each(modes)('what a tool returns (%s)', (mode) => {
  const cycle: Record<string, unknown> = { n: 1 }
  cycle['self'] = cycle
  const values: [string, unknown][] = [
    ['nothing', undefined],
    ['null', null],
    ['an empty text', ''],
    ['BigInt', { count: 987654321987654321n, list: [7n] }],
    ['undefined and functions inside', [{ id: 1, started: undefined, run: () => {} }]],
    ['a cycle', cycle],
    ['bytes', new Uint8Array(3)],
    ['an error', new Error('not thrown')],
    ['a list of parts', [{ type: 'image', mediaType: 'image/png', data: 'AA==' }]],
  ]
  test.for(values)('survives JSON in history and events, and goes into the next run: %s', async ([, value]) => {
    const called = await callTools(mode, { calls: ['give'], tools: [tool('give', () => value)] })
    expect(called.status).toEqual({ c0: 'ok' })
    expect(called.results[0]?.content.length).toBeGreaterThan(0)
    const again = await callTools(mode, { calls: ['give'], tools: [tool('give')], run: { session: called.session } })
    expect(again.result?.status).toBe('completed')
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

  test.for(['raise', 'log'] as const)(
    "an error that a layer makes of the tool's is the layer's own, under '%s'",
    async (errors) => {
      const wrapped = new Error('wrapped')
      const wrap: Middleware = {
        name: 'wrap',
        errors,
        around_tool: (_, next) =>
          next().catch(() => {
            throw wrapped
          }),
      }
      const called = await callTools(mode, {
        calls: ['work'],
        tools: [tool('work', () => Promise.reject(boom))],
        middleware: [wrap],
        agent: { logger: quiet },
      })
      expect(called.error).toBe(errors === 'raise' ? wrapped : undefined)
      expect(called.status).toEqual({ c0: errors === 'raise' ? 'withheld' : 'error' })
      if (errors === 'log') expect(called.texts).toEqual(['boom'])
    },
  )

  test("may answer in the tool's place, and what it gives becomes plain and never empty", async () => {
    let executed: boolean | undefined
    let seen: ToolResult | undefined
    let ran = 0
    const odd = { content: [], isError: false, value: { big: 10n, at: new Date(0) }, extra: 1 } as never as ToolResult
    const called = await callTools(mode, {
      calls: ['work'],
      tools: [tool('work', () => ++ran)],
      middleware: [
        {
          name: 'cache',
          around_tool: () => odd,
          after_tool: (ctx, next) => ((executed = ctx.executed), (seen = ctx.result), next()),
        },
      ],
    })
    expect(ran).toBe(0)
    expect(executed).toBe(false)
    expect(seen?.value).toEqual({ big: '10', at: '1970-01-01T00:00:00.000Z' })
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
