import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  allow,
  ask,
  deny,
  memorySession,
  replace_result,
  RunCancelledError,
  RunController,
  stateKey,
  textOf,
} from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { callTools, tool } from './testing/calls.ts'
import { modes, recorder } from './testing/kit.ts'

// The behaviours that hook systems before this one are known for, each by the name under which its own tests have it.

const quiet = { ...console, error: () => {} }
const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }], isError: false })

describe.each(modes)('a registry of lifecycle hooks (%s)', (mode) => {
  test('the registry runs all hooks', async () => {
    const ran: string[] = []
    const hook = (name: string): Middleware => ({ name, before_tool: (_, next) => (ran.push(name), next()) })
    await callTools(mode, { calls: ['echo'], tools: [tool('echo')], middleware: ['a', 'b', 'c'].map(hook) })
    expect(ran).toEqual(['a', 'b', 'c'])
  })

  test('a block stops the chain', async () => {
    const ran: string[] = []
    const called = await callTools(mode, {
      calls: ['echo'],
      tools: [tool('echo', () => void ran.push('echo'))],
      middleware: [
        { name: 'a', before_tool: () => deny('not allowed') },
        { name: 'b', before_tool: (_, next) => (ran.push('b'), next()) },
      ],
    })
    expect(ran).toEqual([])
    expect(called.texts).toEqual(['Blocked by hook: not allowed'])
  })

  test('input mutations accumulate context', async () => {
    const called = await callTools(mode, {
      calls: [{ name: 'echo', args: { n: 1 } }],
      tools: [tool('echo', (args) => args)],
      middleware: [
        { name: 'a', before_tool: (ctx) => allow({ args: { ...ctx.args, a: true }, context: 'from a' }) },
        { name: 'b', before_tool: (ctx) => allow({ args: { ...ctx.args, b: true }, context: 'from b' }) },
      ],
    })
    expect(called.results[0]).toMatchObject({ value: { n: 1, a: true, b: true } })
    expect(called.results[0]?.content.at(-1)).toEqual({ type: 'text', text: 'from a\nfrom b', added: true })
  })

  test('post-tool output mutation', async () => {
    const called = await callTools(mode, {
      calls: ['echo'],
      tools: [tool('echo', () => 'raw')],
      middleware: [{ name: 'a', after_tool: (ctx) => text(`${textOf(ctx.result)}, mutated`) }],
    })
    expect(called.texts).toEqual(['raw, mutated'])
    expect(called.model.calls[1]?.messages.at(-1)).toMatchObject({ content: [text('raw, mutated')] })
  })

  const cancelled = stateKey('seeds/cancelled', z.boolean().default(false))
  const cancellation: Middleware = {
    name: 'cancellation',
    before_tool: (ctx, next) => (ctx.get(cancelled) ? deny('the session was cancelled') : next()),
  }
  test.for([true, false])('the cancellation hook blocks when cancelled, and lets through when not (%s)', async (on) => {
    const called = await callTools(mode, {
      calls: ['echo'],
      tools: [tool('echo')],
      middleware: [{ name: 'set', before_run: (ctx, next) => (ctx.set(cancelled, on), next()) }, cancellation],
    })
    expect(called.texts).toEqual([on ? 'Blocked by hook: the session was cancelled' : 'echo ran'])
  })

  test('session start is called, once for a session', async () => {
    const starts: string[] = []
    const middleware: Middleware[] = [{ name: 'a', on_session_start: (ctx, next) => (starts.push(ctx.source), next()) }]
    const session = memorySession()
    await callTools(mode, { calls: ['echo'], tools: [tool('echo')], middleware, run: { session } })
    await callTools(mode, { calls: [], middleware, run: { session }, next: [{ text: 'hi' }] })
    expect(starts).toEqual(['startup'])
  })
})

describe.each(modes)('hooks of an agent loop (%s)', (mode) => {
  const approval: Middleware<{ approved?: boolean }> = {
    name: 'approval',
    on_permission: (ctx, next) => (ctx.toolName === 'shell' && !ctx.metadata.approved ? deny('blocked by policy') : next()),
  }
  test.for([true, false])('approval (approved: %s)', async (approved) => {
    const called = await callTools(mode, {
      calls: ['shell'],
      tools: [tool('shell')],
      middleware: [approval],
      run: { metadata: { approved } },
    })
    expect(called.texts).toEqual([approved ? 'shell ran' : 'Permission denied: blocked by policy'])
  })

  test('approval by an answer to a question', async () => {
    const called = await callTools(mode, {
      calls: ['shell'],
      tools: [tool('shell')],
      middleware: [{ name: 'boss', on_permission: () => ask('dangerous'), on_permission_request: () => allow() }],
    })
    expect(called.texts).toEqual(['shell ran'])
  })

  test('deny: the begin of the call is told before, its result with the reason after', async () => {
    const called = await callTools(mode, {
      calls: ['shell'],
      tools: [tool('shell')],
      middleware: [{ name: 'policy', on_permission: () => deny('no shell') }],
    })
    const types = called.events.map(({ type }) => type)
    expect(types.indexOf('tool_call_begin')).toBeLessThan(types.indexOf('tool_result'))
    expect(called.of('tool_result')[0]).toMatchObject({ status: 'denied', content: [{ text: 'Permission denied: no shell' }] })
  })

  test('replace_result', async () => {
    let ran = 0
    const called = await callTools(mode, {
      calls: ['shell'],
      tools: [tool('shell', () => ++ran)],
      middleware: [{ name: 'mock', before_tool: () => replace_result('mocked') }],
    })
    expect(called.texts).toEqual(['mocked'])
    expect(ran).toBe(0)
  })

  test('cancel: no tool starts any more, the run ends as cancelled, and its call has a result', async () => {
    const controller = new RunController()
    let ran = 0
    const called = await callTools(mode, {
      calls: ['shell'],
      tools: [tool('shell', () => ++ran)],
      middleware: [{ name: 'stop', before_tool: (_, next) => (controller.cancel('enough'), next()) }],
      run: { controller },
    })
    expect(called.error).toBeInstanceOf(RunCancelledError)
    expect(ran).toBe(0)
    expect(called.status).toEqual({ c0: 'cancelled' })
    expect(called.events.slice(-2).map(({ type }) => type)).toEqual(['run_cancelled', 'run_end'])
  })

  test('order: registered first, run first; and left last', async () => {
    const trace: string[] = []
    await callTools(mode, { calls: ['echo'], tools: [tool('echo')], middleware: [recorder('a', trace), recorder('b', trace)] })
    expect(trace.filter((line) => line.endsWith('around_tool'))).toEqual([
      '>a:around_tool',
      '>b:around_tool',
      '<b:around_tool',
      '<a:around_tool',
    ])
  })

  test.for([undefined, 'raise', 'log', 'ignore'] as const)('on_error policies: %s', async (errors) => {
    const boom = new Error('boom')
    const logged: unknown[] = []
    const called = await callTools(mode, {
      calls: ['echo'],
      tools: [tool('echo')],
      agent: { logger: { ...quiet, error: (...line: unknown[]) => void logged.push(line) } },
      middleware: [
        {
          name: 'broken',
          ...(errors && { errors }),
          before_tool() {
            throw boom
          },
        },
      ],
    })
    const raises = errors === undefined || errors === 'raise'
    expect(called.error).toBe(raises ? boom : undefined)
    expect(called.texts).toEqual([raises ? expect.stringContaining('not executed') : 'echo ran'])
    expect(logged).toHaveLength(errors === 'log' ? 1 : 0)
    expect(called.of('hook_error')).toHaveLength(1)
  })

  test('without hooks, what a run does is the same as with hooks that do nothing', async () => {
    const plan = { calls: ['echo', 'nope'], tools: [tool('echo')] }
    const bare = await callTools(mode, plan)
    const hooked = await callTools(mode, { ...plan, middleware: [recorder('a', []), recorder('b', [])] })
    expect(hooked.events.map(({ type }) => type)).toEqual(bare.events.map(({ type }) => type))
    expect(hooked.session.messages).toEqual(bare.session.messages)
  })
})

describe.each(modes)('hooks and events (%s)', (mode) => {
  test('hook order against event order', async () => {
    const trace: string[] = []
    const shown = new Set([
      'run_begin',
      'turn_begin',
      'step_begin',
      'step_end',
      'tool_call_begin',
      'tool_result',
      'turn_end',
      'run_end',
    ])
    await callTools(mode, {
      calls: ['echo'],
      tools: [tool('echo', () => void trace.push('execute'))],
      middleware: [
        { name: 'events', on_event: (ctx, next) => (shown.has(ctx.event.type) && trace.push(ctx.event.type), next()) },
        recorder('h', trace),
      ],
    })
    const turn = (...middle: string[]): string[] => [
      '>before_turn',
      'turn_begin',
      'step_begin',
      '>before_llm_step',
      '>around_llm_step',
      '>after_llm_step',
      'step_end',
      ...middle,
      'turn_end',
      '>after_turn',
    ]
    expect(trace.filter((line) => !line.startsWith('<')).map((line) => line.replace('h:', ''))).toEqual([
      'run_begin',
      '>on_session_start',
      '>before_run',
      '>around_run',
      '>on_input',
      ...turn('tool_call_begin', '>on_permission', '>before_tool', '>around_tool', 'execute', '>after_tool', 'tool_result'),
      ...turn(),
      '>on_stop',
      '>after_run',
      'run_end',
    ])
  })
})

describe.each(modes)('a hook manager (%s)', (mode) => {
  test('a throwing handler is passed over, and the next still runs', async () => {
    let ran = 0
    const called = await callTools(mode, {
      calls: ['echo'],
      tools: [tool('echo')],
      agent: { logger: quiet },
      middleware: [
        {
          name: 'throws',
          errors: 'log',
          before_tool() {
            throw new Error('boom')
          },
          after_tool() {
            throw new Error('boom')
          },
        },
        { name: 'next', before_tool: (_, next) => (ran++, next()), after_tool: (_, next) => (ran++, next()) },
      ],
    })
    expect(ran).toBe(2)
    expect(called.texts).toEqual(['echo ran'])
  })

  test('the first block wins', async () => {
    const block = (name: string): Middleware => ({ name, before_tool: () => deny(name) })
    const called = await callTools(mode, {
      calls: ['echo'],
      tools: [tool('echo')],
      middleware: [block('first'), block('second')],
    })
    expect(called.texts).toEqual(['Blocked by hook: first'])
  })

  test('the last replace wins', async () => {
    const replace = (name: string): Middleware => ({ name, after_tool: () => text(name) })
    const called = await callTools(mode, {
      calls: ['echo'],
      tools: [tool('echo')],
      middleware: [replace('first'), replace('last')],
    })
    expect(called.texts).toEqual(['last'])
  })

  const wrong: [string, Middleware][] = [
    ['a retry before the tool has run', { name: 'wrong', before_tool: () => ({ kind: 'retry' }) as never }],
    ['a block after the tool has run', { name: 'wrong', after_tool: () => deny('too late') as never }],
    ['no decision at all', { name: 'wrong', before_tool: () => 'no' as never }],
  ]
  test.for(wrong)('a wrong-kind result is told, and under log counts as no opinion: %s', async ([, layer]) => {
    const plan = { calls: ['echo'], tools: [tool('echo')], agent: { logger: quiet } }
    const strict = await callTools(mode, { ...plan, middleware: [layer] })
    expect(strict.error).toMatchObject({ code: 'hook_contract', middleware: 'wrong' })
    const lenient = await callTools(mode, { ...plan, middleware: [{ ...layer, errors: 'log' }] })
    expect(lenient.texts).toEqual(['echo ran'])
    expect(lenient.of('hook_error')).toMatchObject([{ middleware: 'wrong', error: { code: 'hook_contract' } }])
  })

  test('a permission denial takes precedence over a pre-hook block', async () => {
    let reached = 0
    const called = await callTools(mode, {
      calls: ['echo'],
      tools: [tool('echo')],
      middleware: [{ name: 'both', before_tool: () => (reached++, deny('should not reach')), on_permission: () => deny('no') }],
    })
    expect(called.texts).toEqual(['Permission denied: no'])
    expect(reached).toBe(0)
  })

  test('a post hook sees the error result of a tool that threw', async () => {
    const seen: [boolean, string][] = []
    const called = await callTools(mode, {
      calls: ['echo'],
      tools: [tool('echo', () => Promise.reject(new Error('disk full')))],
      middleware: [{ name: 'post', after_tool: (ctx, next) => (seen.push([ctx.result.isError, textOf(ctx.result)]), next()) }],
    })
    expect(seen).toEqual([[true, 'disk full']])
    expect(called.result?.status).toBe('completed')
  })

  test('a post hook does not run for what was denied or blocked', async () => {
    let ran = 0
    await callTools(mode, {
      calls: ['denied', 'blocked'],
      tools: [tool('denied'), tool('blocked')],
      middleware: [
        {
          name: 'all',
          on_permission: (ctx, next) => (ctx.toolName === 'denied' ? deny('no') : next()),
          before_tool: () => deny('no'),
          after_tool: (_, next) => (ran++, next()),
        },
      ],
    })
    expect(ran).toBe(0)
  })
})
