import { describe, expect, test } from 'vitest'
import { Agent, allow, ask, deny, replace_result, retry, stop, textOf } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { scripted } from '../scripted.ts'
import { callTools, settled, tool } from '../testing/calls.ts'
import { execute, modes } from '../testing/kit.ts'

const quiet = { ...console, error: () => {} }
const boom = new Error('boom')

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

  test('that fails while later calls are at their gates: no further gate is asked', async () => {
    const asked: string[] = []
    const called = await callTools(mode, {
      calls: ['bad', 'good', 'good'],
      tools: [tool('bad'), tool('good')],
      middleware: [
        broken,
        {
          name: 'gate',
          async on_permission(ctx, next) {
            asked.push(ctx.toolCall.callId)
            await settled()
            return next()
          },
        },
      ],
    })
    expect(called.error).toBe(boom)
    expect(asked).toEqual(['c0', 'c1'])
    expect(called.status).toEqual({ c0: 'withheld', c1: 'error', c2: 'error' })
  })

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

  test('has nothing to try again where nothing was executed: what a layer put there stands', async () => {
    let asked = 0
    const called = await callTools(mode, {
      calls: ['work'],
      tools: [tool('work')],
      middleware: [{ name: 'again', before_tool: () => replace_result('instead'), after_tool: () => (asked++, retry()) }],
    })
    expect(asked).toBe(1)
    expect(called.texts).toEqual(['instead'])
    expect(called.of('retry')).toEqual([])
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

  test('answers an earlier call that a person would still have to be asked about', async () => {
    let asked = 0
    const called = await callTools(mode, {
      calls: ['work', 'end'],
      tools: [tool('work'), tool('end')],
      middleware: [
        {
          name: 'boss',
          on_permission: (ctx, next) => (ctx.toolName === 'work' ? ask('?') : next()),
          before_tool: (ctx, next) => (ctx.toolName === 'end' ? stop('over') : next()),
          on_permission_request: () => (asked++, allow()),
        },
      ],
    })
    expect(asked).toBe(0)
    expect(called.texts).toEqual(['over', 'over'])
    expect(called.status).toEqual({ c0: 'blocked', c1: 'blocked' })
    expect(called.of('permission_request')).toEqual([])
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
