import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool, deny, when } from '@koagent/core'
import type { ToolCtx } from '@koagent/core'
import { callTools, deferred, settled, tool } from '../testing/calls.ts'
import type { Deferred } from '../testing/calls.ts'
import { modes } from '../testing/kit.ts'

/** Tools whose calls end when the test says so. */
function controlled() {
  const running: string[] = []
  const ends: Record<string, Deferred> = {}
  let most = 0
  const run = async (_: unknown, ctx: ToolCtx): Promise<unknown> => {
    running.push(ctx.callId)
    most = Math.max(most, running.length)
    const end = (ends[ctx.callId] = deferred())
    try {
      return await end.promise
    } finally {
      running.splice(running.indexOf(ctx.callId), 1)
    }
  }
  return {
    running,
    most: () => most,
    tools: [tool('work', run), tool('alone', run, { parallel: false })],
    async end(callId: string, error?: Error) {
      await settled()
      if (error) ends[callId]?.reject(error)
      else ends[callId]?.resolve(`${callId} ran`)
      await settled()
    },
  }
}

const ids = (n: number): string[] => Array.from({ length: n }, (_, i) => `c${i}`)

describe.each(modes)('the calls of a batch (%s)', (mode) => {
  test('all run side by side; each result is told as soon as it is there, and stored in call order', async () => {
    const { tools, running, end } = controlled()
    const run = callTools(mode, { calls: ['work', 'work', 'work'], tools })
    await settled()
    expect(running).toEqual(['c0', 'c1', 'c2'])
    for (const id of ['c2', 'c0', 'c1']) await end(id)
    const called = await run
    expect(called.told).toEqual(['c2', 'c0', 'c1'])
    expect(called.results.map(({ callId }) => callId)).toEqual(ids(3))
    expect(called.texts).toEqual(['c0 ran', 'c1 ran', 'c2 ran'])
    const sent = called.model.calls[1]?.messages.at(-1)
    expect(sent?.role === 'tool' && sent.content.map(({ callId }) => callId)).toEqual(ids(3))
  })

  test('a result is told while siblings still run', async () => {
    const { tools, running, end } = controlled()
    const told: string[] = []
    const run = callTools(mode, {
      calls: ['work', 'work'],
      tools,
      middleware: [
        { name: 'see', on_event: (ctx, next) => (ctx.event.type === 'tool_result' && told.push(ctx.event.callId), next()) },
      ],
    })
    await end('c1')
    expect(told).toEqual(['c1'])
    expect(running).toEqual(['c0'])
    await end('c0')
    await run
  })

  test('a tool that is not parallel runs alone: it waits for those before it and holds those behind it', async () => {
    const { tools, running, end } = controlled()
    const run = callTools(mode, { calls: ['work', 'work', 'alone', 'work', 'work', 'alone'], tools })
    const seen: string[][] = []
    for (const id of ids(6)) {
      await settled()
      seen.push([...running])
      await end(id)
    }
    expect((await run).texts).toHaveLength(6)
    expect(seen).toEqual([['c0', 'c1'], ['c1'], ['c2'], ['c3', 'c4'], ['c4'], ['c5']])
  })

  test.for([1, 2, 5])('toolConcurrency holds them at %i at a time, first come first served', async (toolConcurrency) => {
    const { tools, running, most, end } = controlled()
    const run = callTools(mode, { calls: ids(6).map(() => 'work'), tools, agent: { toolConcurrency } })
    for (const [n, id] of ids(6).entries()) {
      await settled()
      expect(running).toEqual(ids(6).slice(n, n + toolConcurrency))
      await end(id)
    }
    await run
    expect(most()).toBe(toolConcurrency)
  })

  test('a call that is denied, unknown or fails takes no sibling along', async () => {
    const { tools, end } = controlled()
    const run = callTools(mode, {
      calls: ['work', 'no', 'nope', 'work', { name: 'work', args: '{' }, 'work'],
      tools: [...tools, tool('no')],
      middleware: [{ name: 'policy', on_permission: (ctx, next) => (ctx.toolName === 'no' ? deny('no') : next()) }],
    })
    await end('c0', new Error('boom'))
    await end('c3')
    await end('c5')
    expect((await run).status).toEqual({ c0: 'error', c1: 'denied', c2: 'invalid', c3: 'ok', c4: 'invalid', c5: 'ok' })
  })

  test('of a step that was cut off at its length are answered and not executed', async () => {
    let ran = 0
    const called = await callTools(mode, {
      calls: [],
      tools: [tool('work', () => ++ran)],
      next: [{ toolCalls: [{ name: 'work' }, { name: 'work' }], finishReason: 'length' }, { text: 'done' }],
      middleware: [
        { name: 'go', on_stop: (ctx, next) => (ctx.continuations === 0 ? { kind: 'continue_run', message: 'more' } : next()) },
      ],
    })
    expect(ran).toBe(0)
    expect(called.texts).toHaveLength(2)
    for (const text of called.texts) expect(text).toMatch(/length limit/)
    expect(called.result?.status).toBe('completed')
  })
})

describe.each(modes)('the tools of a batch (%s)', (mode) => {
  test('are those of the request: one that a layer left out cannot be called', async () => {
    let ran = 0
    const called = await callTools(mode, {
      calls: ['secret', 'open'],
      tools: [tool('secret', () => ++ran), tool('open')],
      middleware: [
        {
          name: 'hide',
          before_llm_step(ctx, next) {
            ctx.request = { ...ctx.request, tools: ctx.request.tools.filter(({ name }) => name !== 'secret') }
            return next()
          },
        },
      ],
    })
    expect(ran).toBe(0)
    expect(called.texts).toEqual(["There is no tool 'secret'. The tools are: open.", 'open ran'])
  })

  test('may have names that a provider refuses: the model sees legal ones, hooks, events and history ours', async () => {
    const names = ['calendar.create', 'calendar_create', `deep/${'x'.repeat(70)}`]
    const seen: string[] = []
    const called = await callTools(mode, {
      calls: [],
      next: [({ tools }) => ({ toolCalls: tools.map(({ name }, n) => ({ name, id: `c${n}` })) }), { text: 'done' }],
      tools: names.map((name) => tool(name)),
      middleware: [
        {
          name: 'see',
          before_tool: (ctx, next) => (seen.push(ctx.toolName), next()),
          on_stop: (ctx, next) => (ctx.continuations === 0 ? { kind: 'continue_run', message: 'more' } : next()),
        },
      ],
    })
    const offered = called.model.calls[0]?.tools.map(({ name }) => name) ?? []
    for (const name of offered) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
    expect(new Set(offered).size).toBe(3)
    expect(seen).toEqual(names)
    expect(called.results.map(({ toolName }) => toolName)).toEqual(names)
    expect(
      called
        .of('tool_result')
        .map(({ toolName }) => toolName)
        .toSorted(),
    ).toEqual(names.toSorted())
    expect(called.texts).toEqual(names.map((name) => `${name} ran`))
  })

  test('are also those that a middleware brings along', async () => {
    const called = await callTools(mode, {
      calls: ['clock', 'own'],
      tools: [tool('own')],
      middleware: [{ name: 'clock', tools: [tool('clock')] }],
    })
    expect(called.texts).toEqual(['clock ran', 'own ran'])
    expect(called.model.calls[0]?.tools.map(({ name }) => name)).toEqual(['own', 'clock'])
  })

  test('are offered and can be called only while the middleware that brings them is active', async () => {
    const called = await callTools(mode, {
      calls: ['clock'],
      next: [{ toolCalls: [{ name: 'clock', id: 'later' }] }, { text: 'done' }],
      middleware: [when((ctx) => ctx.turn > 0, { name: 'clock', tools: [tool('clock')] })],
    })
    expect(called.model.calls.map(({ tools }) => tools.length)).toEqual([0, 1, 1])
    expect(called.status).toEqual({ c0: 'invalid', later: 'ok' })
  })
})

describe.each(modes)('what stays in a batch (%s)', (mode) => {
  test('has one size cap, the smaller of the per-result and the shared one, whoever is done first', async () => {
    const size = 60_000
    const big = (letter: string) =>
      tool(letter, async (_, ctx) => (ctx.callId === 'c0' && (await settled()), letter.repeat(size)))
    for (const [count, limit] of [
      [1, 50_000],
      [4, 50_000],
      [10, 20_000],
    ] as const) {
      const called = await callTools(mode, { calls: ids(count).map((_, n) => (n % 2 ? 'a' : 'b')), tools: [big('a'), big('b')] })
      expect(called.texts.map((text) => text.length)).toEqual(ids(count).map(() => limit))
      for (const text of called.texts)
        expect(text).toMatch(
          /^(a+|b+)\n\[… 60000 characters in all; the middle is left out …\]\n\1$|^(a|b)+\n.*60000 characters.*\n(a|b)+$/,
        )
    }
  })

  test('a tool of a cap of its own keeps it, and after_tool saw the whole', async () => {
    let seen = 0
    const small = defineTool({
      name: 'small',
      description: '',
      input: z.object({}),
      maxResultChars: 200,
      execute: () => 'x'.repeat(1_000),
    })
    const called = await callTools(mode, {
      calls: ['small'],
      tools: [small],
      middleware: [{ name: 'see', after_tool: (ctx, next) => ((seen = JSON.stringify(ctx.result.content).length), next()) }],
    })
    expect(called.texts[0]).toHaveLength(200)
    expect(seen).toBeGreaterThan(1_000)
  })
})
