import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { allow, ask, defineTool, deny, replace_result, RunController } from '@koagent/core'
import type { JsonObject, Middleware } from '@koagent/core'
import { callTools, deferred, settled, tool } from '../testing/calls.ts'
import { modes } from '../testing/kit.ts'

function spy() {
  const ran: JsonObject[] = []
  return { ran, tools: [tool('shell', (args) => (ran.push(args), 'ran'))] }
}

const call = { name: 'shell', args: { path: 'a' } }

describe.each(modes)('who may answer a question (%s)', (mode) => {
  const yes = { on_permission_request: () => allow() }
  const no = { on_permission_request: () => deny('no') }
  const asks = { on_permission: () => ask('sure?') }
  const asksLate = { before_tool: () => ask('sure?') }
  const asksAndSays = { ...asks, ...yes }

  const onions: [string, readonly Omit<Middleware, 'name'>[], readonly Omit<Middleware, 'name'>[], string][] = [
    ['nobody', [asks], [], 'Permission denied: sure? (nobody to ask)'],
    ['nobody, where before_tool asks', [asksLate], [], 'Permission denied: sure? (nobody to ask)'],
    ['the asker itself', [asksAndSays], [], 'ran'],
    ['a layer outside the asker', [yes, asks], [], 'ran'],
    ['a layer outside the asker, where before_tool asks', [yes, asksLate], [], 'ran'],
    ['not a layer further in', [asks, yes], [], 'Permission denied: sure? (nobody to ask)'],
    ['not a layer of the run', [asks], [yes], 'Permission denied: sure? (nobody to ask)'],
    ['a layer of the run that asked itself', [], [asksAndSays], 'ran'],
    ['a layer further in may still say no', [yes, asks, no], [], 'Permission denied: no'],
    ['a layer of the run may still say no', [yes, asks], [no], 'Permission denied: no'],
    ['of two askers the outermost', [asks, asksAndSays], [], 'Permission denied: sure? (nobody to ask)'],
    ['of two askers at two points the outermost', [asksLate, asksAndSays], [], 'Permission denied: sure? (nobody to ask)'],
    ['a layer outside that passes on what came is no asker', [{ on_permission: (_, next) => next() }, asksAndSays], [], 'ran'],
    [
      'an allow further in answers no question',
      [asks, { on_permission: () => allow() }],
      [],
      'Permission denied: sure? (nobody to ask)',
    ],
  ]
  test.for(onions)('%s', async ([, agent, run, text]) => {
    const { ran, tools } = spy()
    const named = (layers: readonly Omit<Middleware, 'name'>[], prefix: string): Middleware[] =>
      layers.map((hooks, n) => ({ name: `${prefix}${n}`, ...hooks }))
    const called = await callTools(mode, {
      calls: [call],
      tools,
      middleware: named(agent, 'agent-'),
      run: { middleware: named(run, 'run-') },
    })
    expect(called.texts).toEqual([text])
    expect(ran).toEqual(text === 'ran' ? [call.args] : [])
    expect(called.of('permission_request')).toHaveLength(1)
    expect(called.of('permission_resolved')).toHaveLength(1)
  })

  test('events tell the question and its answer, in order, by name', async () => {
    const { tools } = spy()
    const called = await callTools(mode, {
      calls: [call],
      tools,
      middleware: [
        { name: 'boss', on_permission_request: () => deny('never') },
        { name: 'policy', on_permission: () => ask('sure?') },
      ],
    })
    expect(called.of('permission_request')).toMatchObject([{ callId: 'c0', args: call.args, reason: 'sure?', asker: 'policy' }])
    expect(called.of('permission_resolved')).toMatchObject([
      { callId: 'c0', args: call.args, decision: 'deny', reason: 'never', by: 'boss' },
    ])
    const types = called.events
      .map(({ type }) => type)
      .filter((type) => type.startsWith('permission') || type.startsWith('tool_'))
    expect(types.filter((type) => type !== 'tool_args_delta')).toEqual([
      'tool_call_begin',
      'permission_request',
      'permission_resolved',
      'tool_result',
    ])
  })

  test('a replaced call stays replaced after a yes', async () => {
    const { ran, tools } = spy()
    const called = await callTools(mode, {
      calls: [call],
      tools,
      middleware: [
        { name: 'boss', on_permission: () => ask('sure?'), on_permission_request: () => allow() },
        { name: 'cache', before_tool: () => replace_result('cached') },
      ],
    })
    expect(called.texts).toEqual(['cached'])
    expect(called.status).toEqual({ c0: 'replaced' })
    expect(ran).toEqual([])
  })

  test('a layer that fails while it is asked counts as a no', async () => {
    const { ran, tools } = spy()
    const boss: Middleware = {
      name: 'boss',
      on_permission: () => ask('sure?'),
      on_permission_request() {
        throw new Error('offline')
      },
    }
    const called = await callTools(mode, { calls: [call], tools, middleware: [boss] })
    expect(called.texts[0]).toMatch(/^Permission denied: .*boss.*offline/)
    expect(ran).toEqual([])
  })

  test('a question that a cancel cuts off is told as answered', async () => {
    const { ran, tools } = spy()
    const controller = new RunController()
    const boss: Middleware = {
      name: 'boss',
      on_permission: () => ask('sure?'),
      async on_permission_request(ctx) {
        controller.cancel('enough')
        await ctx.runtime.sleep(10_000)
        return allow()
      },
    }
    const called = await callTools(mode, { calls: [call], tools, middleware: [boss], run: { controller } })
    expect(called.of('permission_resolved')).toMatchObject([{ decision: 'deny' }])
    expect(called.status).toEqual({ c0: 'cancelled' })
    expect(ran).toEqual([])
  })
})

describe.each(modes)('an edit by whoever is asked (%s)', (mode) => {
  test('passes every gate again, and the yes holds for it', async () => {
    const { ran, tools } = spy()
    const trace: string[] = []
    const see = (point: string, args: JsonObject): void => void trace.push(`${point} ${String(args['path'])}`)
    const called = await callTools(mode, {
      calls: [call],
      tools,
      middleware: [
        {
          name: 'boss',
          on_permission: (ctx) => (see('on_permission', ctx.args), ask('sure?')),
          before_tool: (ctx, next) => (see('before_tool', ctx.args), ctx.addContext(`about ${String(ctx.args['path'])}`), next()),
          on_permission_request: (ctx) => (see('asked', ctx.args), allow({ args: { path: 'b' } })),
        },
      ],
    })
    expect(trace).toEqual(['on_permission a', 'before_tool a', 'asked a', 'on_permission b', 'before_tool b'])
    expect(ran).toEqual([{ path: 'b' }])
    expect(called.of('tool_result')[0]?.args).toEqual({ path: 'b' })
    expect(called.of('permission_resolved')[0]).toMatchObject({ decision: 'allow', args: { path: 'b' } })
    // The model is told of the edit, and hears nothing about the arguments before it.
    expect(called.results[0]?.content.at(-1)).toEqual({
      type: 'text',
      text: 'The arguments were edited by whoever gave permission, to {"path":"b"}.\nabout b',
      added: true,
    })
  })

  const refused: [string, Middleware, string, string][] = [
    [
      'permission denies it',
      { name: 'policy', on_permission: (ctx, next) => (ctx.args['path'] === 'b' ? deny('not b') : next()) },
      'denied',
      'Permission denied: not b',
    ],
    [
      'before_tool blocks it',
      { name: 'policy', before_tool: (ctx, next) => (ctx.args['path'] === 'b' ? deny('not b') : next()) },
      'blocked',
      'Blocked by hook: not b',
    ],
  ]
  test.for(refused)('does not run where %s', async ([, policy, status, text]) => {
    const { ran, tools } = spy()
    const boss: Middleware = {
      name: 'boss',
      on_permission: () => ask('?'),
      on_permission_request: () => allow({ args: { path: 'b' } }),
    }
    const called = await callTools(mode, { calls: [call], tools, middleware: [boss, policy] })
    expect(called.texts).toEqual([text])
    expect(called.status).toEqual({ c0: status })
    expect(ran).toEqual([])
  })

  test('that does not fit the schema is answered as invalid, by the name of who made it', async () => {
    const ran: unknown[] = []
    const count = defineTool({
      name: 'count',
      description: '',
      input: z.object({ n: z.number() }),
      execute: (args) => ran.push(args),
    })
    const boss: Middleware = {
      name: 'boss',
      on_permission: () => ask('?'),
      on_permission_request: () => allow({ args: { n: 'x' } }),
    }
    const called = await callTools(mode, { calls: [{ name: 'count', args: { n: 1 } }], tools: [count], middleware: [boss] })
    expect(called.of('tool_result')[0]).toMatchObject({ status: 'invalid', by: 'boss' })
    expect(ran).toEqual([])
  })

  test('that before_tool rewrites again needs a yes of its own', async () => {
    const { ran, tools } = spy()
    const asked: unknown[] = []
    const called = await callTools(mode, {
      calls: [call],
      tools,
      middleware: [
        {
          name: 'boss',
          on_permission: () => ask('?'),
          on_permission_request(ctx) {
            asked.push(ctx.args['path'])
            return ctx.args['path'] === 'a' ? allow({ args: { path: 'b' } }) : allow()
          },
        },
        { name: 'rewrite', before_tool: (ctx, next) => (ctx.args['path'] === 'b' && (ctx.args = { path: 'c' }), next()) },
      ],
    })
    expect(asked).toEqual(['a', 'c'])
    expect(ran).toEqual([{ path: 'c' }])
    expect(called.of('permission_request').map(({ args }) => args)).toEqual([{ path: 'a' }, { path: 'c' }])
  })

  test('by a layer further in, made after the yes, needs a yes of its own', async () => {
    const { ran, tools } = spy()
    const asked: unknown[] = []
    const called = await callTools(mode, {
      calls: [call],
      tools,
      middleware: [
        {
          name: 'boss',
          on_permission: () => ask('?'),
          on_permission_request: (ctx) => (asked.push(ctx.args['path']), ctx.args['path'] === 'a' ? allow() : deny('not that')),
        },
      ],
      run: { middleware: [{ name: 'sly', on_permission_request: (ctx, next) => ((ctx.args = { path: 'evil' }), next()) }] },
    })
    expect(asked).toEqual(['a', 'evil'])
    expect(called.texts).toEqual(['Permission denied: not that'])
    expect(ran).toEqual([])
  })

  test('that a layer further in puts back needs a yes of its own too', async () => {
    const { ran, tools } = spy()
    const asked: unknown[] = []
    const called = await callTools(mode, {
      calls: [call],
      tools,
      middleware: [
        {
          name: 'boss',
          on_permission: () => ask('?'),
          on_permission_request: (ctx) => (asked.push(ctx.args['path']), allow({ args: { path: 'safe' } })),
        },
      ],
      run: { middleware: [{ name: 'sly', on_permission_request: (ctx, next) => ((ctx.args = { path: 'a' }), next()) }] },
    })
    expect(asked).toEqual(['a', 'a', 'a', 'a'])
    expect(called.status).toEqual({ c0: 'denied' })
    expect(ran).toEqual([])
  })

  test('cannot be used to pass by a question of a layer further out', async () => {
    const { ran, tools } = spy()
    const called = await callTools(mode, {
      calls: [call],
      tools,
      middleware: [
        { name: 'guard', on_permission: (ctx, next) => (ctx.args['path'] === 'secret' ? ask('really?') : next()) },
        { name: 'inner', on_permission: () => ask('?'), on_permission_request: () => allow({ args: { path: 'secret' } }) },
      ],
    })
    expect(called.texts).toEqual(['Permission denied: really? (nobody to ask)'])
    expect(called.of('permission_request').map(({ asker }) => asker)).toEqual(['inner', 'guard'])
    expect(ran).toEqual([])
  })

  test('can be made three times, then the call is denied', async () => {
    const { ran, tools } = spy()
    let n = 0
    const boss: Middleware = {
      name: 'boss',
      on_permission: () => ask('?'),
      on_permission_request: () => allow({ args: { path: `${n++}` } }),
      before_tool: (ctx, next) => ((ctx.args = { path: `${String(ctx.args['path'])}!` }), next()),
    }
    const called = await callTools(mode, { calls: [call], tools, middleware: [boss] })
    expect(called.texts).toEqual(['Permission denied: the arguments were edited more than 3 times'])
    expect(n).toBe(4)
    expect(ran).toEqual([])
  })
})

describe.each(modes)('the order of gates and questions (%s)', (mode) => {
  test('gates run in call order, one call after the other, and a call without a question starts right after its own', async () => {
    const trace: string[] = []
    const see =
      (point: string) =>
      async <T>(ctx: { readonly toolCall: { readonly callId: string } }, next: () => Promise<T>): Promise<T> => {
        trace.push(`${point} ${ctx.toolCall.callId}`)
        await settled()
        return next()
      }
    await callTools(mode, {
      calls: ['work', 'work', 'work'],
      tools: [tool('work', (_, ctx) => void trace.push(`run ${ctx.callId}`))],
      middleware: [{ name: 'see', on_permission: see('may'), before_tool: see('before') }],
    })
    const gates = trace.filter((line) => !line.startsWith('run'))
    expect(gates).toEqual(['may c0', 'before c0', 'may c1', 'before c1', 'may c2', 'before c2'])
    expect(trace.indexOf('run c0')).toBeLessThan(trace.indexOf('before c1'))
  })

  test('questions start together after the last gate, in call order, and hold no sibling', async () => {
    const trace: string[] = []
    const answer = deferred<void>()
    const run = callTools(mode, {
      calls: [{ name: 'ask', id: 'a' }, 'work', { name: 'ask', id: 'b' }, 'work'],
      tools: ['ask', 'work'].map((name) => tool(name, (_, ctx) => void trace.push(`run ${ctx.callId}`))),
      middleware: [
        {
          name: 'boss',
          on_permission: (ctx, next) => (trace.push(`gate ${ctx.toolCall.callId}`), ctx.toolName === 'ask' ? ask('?') : next()),
          async on_permission_request(ctx) {
            trace.push(`asked ${ctx.toolCall.callId}`)
            await answer.promise
            return allow()
          },
        },
      ],
    })
    await settled()
    expect(trace.filter((line) => line.startsWith('asked'))).toEqual(['asked a', 'asked b'])
    expect(trace.indexOf('asked a')).toBeGreaterThan(trace.indexOf('gate c3'))
    expect(trace.filter((line) => line.startsWith('run'))).toEqual(['run c1', 'run c3'])
    answer.resolve()
    expect((await run).results.map(({ callId }) => callId)).toEqual(['a', 'c1', 'b', 'c3'])
    expect(trace.filter((line) => line.startsWith('run'))).toEqual(['run c1', 'run c3', 'run a', 'run b'])
  })
})
