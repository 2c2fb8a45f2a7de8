import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { allow, defineTool, deny, replace_result, ToolError } from '@koagent/core'
import type { Middleware, ToolStatus } from '@koagent/core'
import { callTools, settled, tool } from '../testing/calls.ts'
import { modes, recorder } from '../testing/kit.ts'
import { maxResultChars } from './call.ts'

const read = defineTool({
  name: 'read',
  description: 'reads',
  input: z.object({ path: z.string() }),
  execute: ({ path }) => path,
})

describe.each(modes)('a call that cannot run as asked (%s)', (mode) => {
  const wrong: [string, string, string | Record<string, never>, RegExp][] = [
    ['of an unknown tool', 'raed', {}, /^There is no tool 'raed'\. The tools are: read, none\.$/],
    ['of an unknown tool, with arguments that are no JSON', 'raed', '{', /^There is no tool 'raed'/],
    [
      'with arguments that are no JSON',
      'read',
      '{"{"ids":[1]}',
      /^The arguments of 'read' are no JSON object \(.+\): \{"\{"ids":\[1\]\}$/,
    ],
    ['with arguments that are a list', 'read', '[1]', /^The arguments of 'read' are no JSON object \(it is \[1\]\): \[1\]$/],
    ['with arguments that are null', 'none', 'null', /^The arguments of 'none' are no JSON object \(it is null\): null$/],
    ['with arguments that are a string', 'none', '"x"', /it is "x"/],
    ['with arguments of the wrong type', 'read', '{"path":1}', /^Invalid arguments for 'read': .*path/],
    ['without an argument that is needed', 'read', {}, /^Invalid arguments for 'read': .*path/],
  ]
  test.for(wrong)(
    '%s is answered with what to do, told as invalid, and passes no gate and no after_tool',
    async ([, name, args, text]) => {
      const asked: Error[] = []
      const trace: string[] = []
      const called = await callTools(mode, {
        calls: [{ name, args }],
        tools: [read, tool('none')],
        middleware: [recorder('log', trace), { name: 'see', on_error: (ctx, next) => (asked.push(ctx.error), next()) }],
      })
      expect(called.texts[0]).toMatch(text)
      expect(called.results[0]?.isError).toBe(true)
      expect(called.of('tool_result')[0]).toMatchObject({ status: 'invalid', error: { code: 'tool' } })
      expect(asked).toHaveLength(1)
      expect(asked[0]).toBeInstanceOf(ToolError)
      expect(asked[0]).toMatchObject({ toolName: name, callId: 'c0' })
      expect(trace.filter((line) => /permission|_tool/.test(line))).toEqual([])
      expect(called.result?.status).toBe('completed')
      expect(called.model.calls).toHaveLength(2)
    },
  )

  test('says so where there are no tools at all', async () => {
    expect((await callTools(mode, { calls: ['nope'] })).texts[0]).toMatch(/There are no tools/)
  })

  test.for(['', '  \n', undefined])('is none with blank arguments (%j): they are {}, and the tool runs once', async (args) => {
    const ran: unknown[] = []
    const called = await callTools(mode, {
      calls: [{ name: 'none', ...(args !== undefined && { args }) }],
      tools: [tool('none', (given) => (ran.push(given), 'ok'))],
    })
    expect(ran).toEqual([{}])
    expect(called.texts).toEqual(['ok'])
  })

  test('keeps its raw text, capped, in error and events', async () => {
    const raw = `{${'x'.repeat(3 * maxResultChars)}`
    const called = await callTools(mode, { calls: [{ name: 'read', args: raw }], tools: [read] })
    expect(called.of('tool_call_begin')[0]?.rawArgs).toBe(raw.slice(0, maxResultChars))
    expect(called.of('tool_result')[0]?.rawArgs).toBe(raw.slice(0, maxResultChars))
    expect(called.texts[0]?.length).toBeLessThan(3_000)
    expect(called.of('tool_result')[0]?.error?.message.length).toBeLessThan(3_000)
  })

  test('may be given a result by on_error, which passes after_tool; a retry changes nothing', async () => {
    let seen = 0
    const called = await callTools(mode, {
      calls: ['nope', { name: 'read', args: '[' }],
      tools: [read],
      middleware: [
        {
          name: 'help',
          on_error: (ctx) => (ctx.toolName === 'nope' ? replace_result('instead') : { kind: 'retry' }),
          after_tool: (_, next) => (seen++, next()),
        },
      ],
    })
    expect(called.texts[0]).toBe('instead')
    expect(called.status).toEqual({ c0: 'replaced', c1: 'invalid' })
    expect(seen).toBe(1)
  })

  test('fails the run where on_error raises', async () => {
    const called = await callTools(mode, {
      calls: ['nope', 'read'],
      tools: [read],
      middleware: [{ name: 'strict', on_error: (ctx) => ({ kind: 'raise', error: ctx.error }) }],
    })
    expect(called.error).toBeInstanceOf(ToolError)
    expect(called.results).toHaveLength(2)
    expect(called.of('error')).toHaveLength(1)
  })
})

describe.each(modes)('notes for the model (%s)', (mode) => {
  const notes: Middleware[] = [
    {
      name: 'outer',
      before_tool: (ctx, next) => next().then((decision) => (ctx.addContext('outer before'), decision)),
      after_tool: (ctx, next) => next().then((result) => (ctx.addContext('outer after'), result)),
    },
    {
      name: 'inner',
      before_tool: () => allow({ context: 'inner before' }),
      after_tool: (ctx, next) => (ctx.addContext('inner after'), next()),
    },
  ]
  const text = 'outer before\ninner before\nouter after\ninner after'

  test("come with that call's result, in registration order, marked as added", async () => {
    const called = await callTools(mode, { calls: ['a', 'b'], tools: [tool('a', settled), tool('b')], middleware: notes })
    const sent = called.model.calls[1]?.messages.at(-1)
    for (const { content } of sent?.role === 'tool' ? sent.content : []) {
      expect(content).toHaveLength(2)
      expect(content[1]).toEqual({ type: 'text', text, added: true })
    }
    expect(called.of('tool_result')[0]?.content.at(-1)).toEqual({ type: 'text', text, added: true })
  })

  const refusals: [string, Middleware, string, ToolStatus][] = [
    ['blocked', { name: 'policy', before_tool: () => deny('no') }, 'outer before\ninner before', 'blocked'],
    ['replaced', { name: 'policy', before_tool: () => replace_result('x') }, text, 'replaced'],
  ]
  test.for(refusals)('come also with a call that is %s', async ([, policy, right, status]) => {
    const called = await callTools(mode, { calls: ['a'], tools: [tool('a')], middleware: [...notes, policy] })
    expect(called.status).toEqual({ c0: status })
    expect(called.results[0]?.content.at(-1)).toEqual({ type: 'text', text: right, added: true })
  })

  test('survive the size cap', async () => {
    const called = await callTools(mode, {
      calls: ['a'],
      tools: [tool('a', () => 'x'.repeat(1_000), { maxResultChars: 100 })],
      middleware: [{ name: 'note', after_tool: (ctx, next) => (ctx.addContext('mind this'), next()) }],
    })
    expect(called.texts[0]).toHaveLength(100)
    expect(called.results[0]?.content.at(-1)).toMatchObject({ text: 'mind this' })
  })
})

describe.each(modes)('the events of a call (%s)', (mode) => {
  test('begin is told before the gates, the result carries what was executed, its value and its time', async () => {
    let now = 1_000
    const trace: string[] = []
    const called = await callTools(mode, {
      calls: [{ name: 'work', args: { n: 1 } }, 'work'],
      tools: [tool('work', ({ n }) => ((now += 5), { n: n ?? 0 }))],
      agent: { runtime: { now: () => now }, toolConcurrency: 1 },
      middleware: [
        {
          name: 'slow',
          on_event: (ctx, next) => (ctx.event.type === 'tool_call_begin' && trace.push(ctx.event.type), next()),
          on_permission: (_, next) => (trace.push('on_permission'), (now += 10), next()),
          before_tool: (ctx, next) => (ctx.toolCall.callId === 'c0' && (ctx.args = { n: 2 }), next()),
        },
      ],
    })
    expect(trace).toEqual(['tool_call_begin', 'on_permission', 'on_permission', 'tool_call_begin', 'on_permission'])
    expect(called.of('tool_call_begin')).toMatchObject([
      { callId: 'c0', toolName: 'work', args: { n: 1 }, index: 0 },
      { callId: 'c1', toolName: 'work', args: {}, index: 1 },
    ])
    expect(called.of('tool_result')).toMatchObject([
      { callId: 'c0', args: { n: 2 }, status: 'ok', isError: false, value: { n: 2 } },
      { callId: 'c1', args: {}, status: 'ok', value: { n: 0 } },
    ])
    // From its own begin, not from that of the batch.
    for (const { durationMs } of called.of('tool_result')) expect(durationMs).toBeLessThanOrEqual(40)
    expect(called.of('tool_result')[1]?.durationMs).toBeLessThan(30)
    expect(called.of('tool_result')[1]?.durationMs).toBeGreaterThanOrEqual(10)
  })
})
