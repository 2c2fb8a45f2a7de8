import { describe, expect, test } from 'vitest'
import { KoagentError, originOf, raise, replace_result, retry, textOf } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { callTools, tool } from '../testing/calls.ts'
import { modes } from '../testing/kit.ts'

const boom = new Error('boom')

function failing(times = Infinity, error: unknown = boom) {
  let runs = 0
  const work = tool('work', () => {
    if (++runs <= times) throw error
    return `run ${runs}`
  })
  return { tools: [work], count: () => runs }
}

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
            expect(originOf(ctx.error)).toEqual({ toolName: 'work', callId: 'c0' })
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
