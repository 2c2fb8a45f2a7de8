import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { allow, ask, defineTool, deny, replace_result, textOf } from '@koagent/core'
import type { Allow, Ask, Deny, JsonObject, Middleware } from '@koagent/core'
import { callTools, tool } from '../testing/calls.ts'
import { modes, recorder } from '../testing/kit.ts'

/** A tool that keeps what it was executed with. */
function spy(name = 'shell') {
  const ran: JsonObject[] = []
  return { ran, tools: [tool(name, (args) => (ran.push(args), 'ran'))] }
}

/** The tool points that a trace passed, entries only. */
function pointsOf(trace: readonly string[]): readonly string[] {
  return trace
    .filter((line) => line.startsWith('>'))
    .map((line) => line.slice(line.indexOf(':') + 1))
    .filter((point) => point.includes('tool') || point.includes('permission') || point === 'on_error')
}

describe.each(modes)('what a gate refuses (%s)', (mode) => {
  const refusals: [string, Middleware, Partial<{ text: string; status: string; points: string[]; isError: boolean }>][] = [
    [
      'a call that permission denies',
      { name: 'policy', on_permission: () => deny('not here') },
      { text: 'Permission denied: not here', status: 'denied', points: ['on_permission'], isError: true },
    ],
    [
      'a call that before_tool denies',
      { name: 'policy', before_tool: () => deny('not now') },
      { text: 'Blocked by hook: not now', status: 'blocked', points: ['on_permission', 'before_tool'], isError: true },
    ],
    [
      'a question that nobody can answer',
      { name: 'policy', on_permission: () => ask('sure?') },
      {
        text: 'Permission denied: sure? (nobody to ask)',
        status: 'denied',
        points: ['on_permission', 'before_tool', 'on_permission_request'],
        isError: true,
      },
    ],
    [
      'a replaced call',
      { name: 'policy', before_tool: () => replace_result('cached') },
      { text: 'cached', status: 'replaced', points: ['on_permission', 'before_tool', 'after_tool'], isError: false },
    ],
  ]
  test.for(refusals)('%s is not executed, and stands in history with its reason', async ([, policy, right]) => {
    const { ran, tools } = spy()
    const trace: string[] = []
    const called = await callTools(mode, { calls: ['shell'], tools, middleware: [recorder('log', trace), policy] })
    expect(ran).toEqual([])
    expect(called.texts).toEqual([right.text])
    expect(called.results[0]?.isError).toBe(right.isError)
    expect(called.of('tool_result')[0]).toMatchObject({ status: right.status, by: 'policy', args: {} })
    expect(pointsOf(trace)).toEqual(right.points)
    expect(called.result?.status).toBe('completed')
    expect(called.model.calls).toHaveLength(2)
  })

  test('a permission denial takes precedence over a block, whichever layer stands further out', async () => {
    for (const order of [0, 1]) {
      const { tools } = spy()
      let blocks = 0
      const policy: Middleware = { name: 'policy', on_permission: () => deny('no') }
      const block: Middleware = { name: 'block', before_tool: () => (blocks++, deny('unreachable')) }
      const middleware = order ? [policy, block] : [block, policy]
      expect((await callTools(mode, { calls: ['shell'], tools, middleware })).texts).toEqual(['Permission denied: no'])
      expect(blocks).toBe(0)
    }
  })

  test('after_tool knows that a replaced call was not executed, and may rewrite its text', async () => {
    const { ran, tools } = spy()
    const seen: boolean[] = []
    const called = await callTools(mode, {
      calls: ['shell', { name: 'shell', args: { real: true } }],
      tools,
      middleware: [
        {
          name: 'redact',
          after_tool(ctx) {
            seen.push(ctx.executed)
            return { content: [{ type: 'text', text: `[${textOf(ctx.result)}]` }], isError: false }
          },
        },
        { name: 'cache', before_tool: (ctx, next) => (ctx.args['real'] ? next() : replace_result({ hit: 1 })) },
      ],
    })
    expect(called.texts).toEqual(['[{"hit":1}]', '[ran]'])
    expect(new Set(seen)).toEqual(new Set([false, true]))
    expect(ran).toEqual([{ real: true }])
  })

  test('a failing permission layer denies the call by its name, and the run goes on', async () => {
    for (const errors of ['raise', 'log', 'ignore'] as const) {
      const { ran, tools } = spy()
      const called = await callTools(mode, {
        calls: ['shell'],
        tools,
        agent: { logger: { ...console, error: () => {} } },
        middleware: [
          {
            name: 'policy',
            errors,
            on_permission() {
              throw new Error('no database')
            },
          },
        ],
      })
      expect(called.texts[0]).toMatch(/^Permission denied: .*policy.*no database/)
      expect(called.result?.status).toBe('completed')
      expect(ran).toEqual([])
      expect(called.of('hook_error')).toHaveLength(1)
    }
  })
})

describe.each(modes)('arguments (%s)', (mode) => {
  /** A tool with a default and a transform, and what it was executed with. */
  function counted() {
    const ran: unknown[] = []
    const count = defineTool({
      name: 'count',
      description: 'counts',
      input: z.object({
        n: z.coerce.number().transform((n) => n + 1),
        unit: z.string().default('m'),
        list: z.array(z.number()).optional(),
      }),
      execute(args) {
        ran.push(structuredClone(args))
        args.list?.push(99)
        args.n = -1
        return 'ok'
      },
    })
    return { ran, tools: [count] }
  }

  test('are in input form for hooks, events and history, and in output form for execute alone', async () => {
    const { ran, tools } = counted()
    const seen: JsonObject[] = []
    const see = <T>(ctx: { readonly args: JsonObject }, next: () => Promise<T>): Promise<T> => (seen.push(ctx.args), next())
    const called = await callTools(mode, {
      calls: [{ name: 'count', args: { n: '1' } }],
      tools,
      middleware: [{ name: 'see', on_permission: see, before_tool: see, around_tool: see, after_tool: see }],
    })
    expect(ran).toEqual([{ n: 2, unit: 'm' }])
    expect(seen).toEqual(Array.from({ length: 4 }, () => ({ n: '1' })))
    expect(called.of('tool_call_begin')[0]?.args).toEqual({ n: '1' })
    expect(called.of('tool_result')[0]?.args).toEqual({ n: '1' })
    expect(JSON.stringify(called.session.messages)).not.toContain('unit')
  })

  test('that execute changes are its own', async () => {
    const { tools } = counted()
    const args = { n: '1', list: [1, 2] }
    let after: unknown
    const called = await callTools(mode, {
      calls: [{ name: 'count', args }],
      tools,
      middleware: [{ name: 'see', after_tool: (ctx, next) => ((after = ctx.args), next()) }],
    })
    expect(after).toEqual({ n: '1', list: [1, 2] })
    expect(called.of('tool_result')[0]?.args).toEqual({ n: '1', list: [1, 2] })
    expect(called.model.calls[1]?.messages.at(-2)).toMatchObject({ content: [{ args: { n: '1', list: [1, 2] } }] })
  })

  test('cannot be changed in place by a layer', async () => {
    const { tools } = counted()
    const called = await callTools(mode, {
      calls: [{ name: 'count', args: { n: 1, list: [1] } }],
      tools,
      middleware: [
        {
          name: 'sly',
          before_tool(ctx, next) {
            expect(() => (ctx.args['list'] as number[]).push(2)).toThrow(TypeError)
            return next()
          },
        },
      ],
    })
    expect(called.of('tool_result')[0]?.args).toEqual({ n: 1, list: [1] })
  })

  const rewrites: [string, Middleware][] = [
    ['an assignment', { name: 'rewrite', before_tool: (ctx, next) => ((ctx.args = { n: 5 }), next()) }],
    ['allow({ args })', { name: 'rewrite', before_tool: () => allow({ args: { n: 5 } }) }],
  ]
  test.for(rewrites)('that before_tool rewrites by %s are put to permission again, and executed', async ([, rewrite]) => {
    const { ran, tools } = counted()
    const asked: JsonObject[] = []
    const called = await callTools(mode, {
      calls: [{ name: 'count', args: { n: 1 } }],
      tools,
      middleware: [{ name: 'ask', on_permission: (ctx, next) => (asked.push(ctx.args), next()) }, rewrite],
    })
    expect(asked).toEqual([{ n: 1 }, { n: 5 }])
    expect(ran).toEqual([{ n: 6, unit: 'm' }])
    expect(called.of('tool_result')[0]?.args).toEqual({ n: 5 })
  })

  test('that a layer assigns are taken as JSON has them, in a copy', async () => {
    const ran: unknown[] = []
    const given = { n: 1, at: new Date(0), gone: undefined }
    const called = await callTools(mode, {
      calls: ['any'],
      tools: [tool('any', (args) => void ran.push(args))],
      middleware: [{ name: 'rewrite', before_tool: (ctx, next) => ((ctx.args = given as never), next()) }],
    })
    expect(ran).toEqual([{ n: 1, at: '1970-01-01T00:00:00.000Z' }])
    expect(called.of('tool_result')[0]?.args).toStrictEqual({ n: 1, at: '1970-01-01T00:00:00.000Z' })
    expect(Object.isFrozen(given)).toBe(false)
  })

  const cycle: Record<string, unknown> = {}
  cycle['self'] = cycle
  const unfit: [string, unknown, RegExp][] = [
    ['BigInt', { n: 1n }, /args must be JSON.*BigInt/],
    ['a cycle', cycle, /args must be JSON.*circular/],
    ['null', null, /args must be an object, not null/],
    ['a list', [], /args must be an object/],
    ['nothing', undefined, /args must be an object, not undefined/],
  ]
  test.for(unfit)('that a layer assigns and that are no JSON object are its contract error: %s', async ([, args, message]) => {
    const { ran, tools } = counted()
    const called = await callTools(mode, {
      calls: [{ name: 'count', args: { n: 1 } }],
      tools,
      middleware: [{ name: 'rewrite', before_tool: (ctx, next) => ((ctx.args = args as never), next()) }],
    })
    expect(called.error).toMatchObject({ code: 'hook_contract', middleware: 'rewrite', message: expect.stringMatching(message) })
    expect(ran).toEqual([])
  })

  test('that are rewritten to the same are not asked about again', async () => {
    const { tools } = counted()
    let asked = 0
    await callTools(mode, {
      calls: [{ name: 'count', args: { n: 1, list: [] } }],
      tools,
      middleware: [
        { name: 'ask', on_permission: (_, next) => (asked++, next()) },
        { name: 'copy', before_tool: (ctx, next) => ((ctx.args = { n: 1, list: [] }), next()) },
      ],
    })
    expect(asked).toBe(1)
  })

  const opinions: [string, (n: unknown) => Allow | Ask | Deny | undefined, string][] = [
    ['allow, then deny', (n) => (n === 5 ? deny('five') : allow()), 'Permission denied: five'],
    ['ask, then allow', (n) => (n === 5 ? allow() : ask('sure?')), 'ok'],
    ['ask, then nothing', (n) => (n === 5 ? undefined : ask('sure?')), 'ok'],
    ['allow, then ask', (n) => (n === 5 ? ask('sure?') : allow()), 'Permission denied: sure? (nobody to ask)'],
  ]
  test.for(opinions)('get the last opinion of permission: %s', async ([, opinion, text]) => {
    const { tools } = counted()
    const called = await callTools(mode, {
      calls: [{ name: 'count', args: { n: 1 } }],
      tools,
      middleware: [
        { name: 'ask', on_permission: (ctx, next) => opinion(ctx.args['n']) ?? next() },
        { name: 'rewrite', before_tool: () => allow({ args: { n: 5 } }) },
      ],
    })
    expect(called.texts).toEqual([text])
  })

  const mistakes: [string, Middleware][] = [
    ['an assignment', { name: 'rewrite', before_tool: (ctx, next) => ((ctx.args = { n: 'many' }), next()) }],
    ['allow({ args })', { name: 'rewrite', before_tool: () => allow({ args: { n: 'many' } }) }],
  ]
  test.for(mistakes)(
    'that %s makes invalid are answered by the name of who wrote them, unasked and unexecuted',
    async ([, rewrite]) => {
      const { ran, tools } = counted()
      const asked: JsonObject[] = []
      const called = await callTools(mode, {
        calls: [{ name: 'count', args: { n: 1 } }],
        tools,
        middleware: [{ name: 'ask', on_permission: (ctx, next) => (asked.push(ctx.args), next()) }, rewrite],
      })
      expect(asked).toEqual([{ n: 1 }])
      expect(ran).toEqual([])
      expect(called.of('tool_result')[0]).toMatchObject({ status: 'invalid', by: 'rewrite', isError: true })
      expect(called.texts[0]).toMatch(/Invalid arguments for 'count'.*n/)
    },
  )
})
