import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { Agent, allow, ask, ConfigError, defineTool, deny, onEvents, RunCancelledError, RunController } from '@koagent/core'
import type { EventOf, JsonObject, Middleware } from '@koagent/core'
import { scripted } from '../scripted.ts'
import { callTools, settled, tool } from '../testing/calls.ts'
import type { Called } from '../testing/calls.ts'
import { execute, modes } from '../testing/kit.ts'
import type { Mode } from '../testing/kit.ts'

type Question = EventOf<'permission_request'>

const asks: Middleware = { name: 'policy', on_permission: () => ask('sure?') }
const call = (path: string) => ({ name: 'shell', args: { path } })

interface Asked {
  readonly calls?: readonly (string | { name: string; args: JsonObject })[]
  readonly middleware?: readonly Middleware[]
  readonly needsApproval?: boolean | ((args: JsonObject) => boolean | Promise<boolean>)
  /** What the person does about a question. */
  readonly person?: (question: Question, controller: RunController) => void
  readonly timeoutMs?: number
}

/** A run whose calls ask a person. */
async function asked(mode: Mode, { calls = [call('a')], middleware = [asks], needsApproval, person, timeoutMs }: Asked) {
  const ran: JsonObject[] = []
  const controller = new RunController()
  const slept: { ms: number; signal: AbortSignal; end: () => void }[] = []
  const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((end, fail) => {
      slept.push({ ms, signal, end })
      signal.addEventListener('abort', () => fail(signal.reason as Error))
    })
  const desk: Middleware = {
    name: 'desk',
    on_event: onEvents(['permission_request'], (event) => void person?.(event, controller)),
  }
  const tools = [tool('shell', (args) => (ran.push(args), 'ran'), needsApproval === undefined ? {} : { needsApproval })]
  const approvals = timeoutMs === undefined ? 'wait' : ({ mode: 'wait', timeoutMs } as const)
  const run = callTools(mode, {
    calls,
    tools,
    middleware: [desk, ...middleware],
    agent: { approvals, runtime: { sleep } },
    run: { controller },
  })
  return { ran, controller, slept, run }
}

async function whole(mode: Mode, options: Asked): Promise<Called & { ran: readonly JsonObject[] }> {
  const { run, ran, slept } = await asked(mode, options)
  const called = await run
  // No clock goes on when its question is answered.
  expect(slept.every(({ signal }) => signal.aborted)).toBe(true)
  return { ...called, ran }
}

describe.each(modes)('a person who is asked (%s)', (mode) => {
  test.each([
    ['says yes', (c: RunController, id: string) => c.approve(id), 'ran', [{ path: 'a' }]],
    ['says no', (c: RunController, id: string) => c.deny(id, 'not now'), 'Permission denied: not now', []],
    ['says no without a reason', (c: RunController, id: string) => c.deny(id), 'Permission denied: a person said no', []],
    [
      'says yes to other arguments',
      (c: RunController, id: string) => c.approve(id, { args: { path: 'b' } }),
      'ran',
      [{ path: 'b' }],
    ],
  ] as const)('%s', async (_, say, text, ran) => {
    const effects: boolean[] = []
    const called = await whole(mode, {
      person: ({ callId }, controller) => void effects.push(say(controller, callId), say(controller, callId)),
    })
    expect(called.texts).toEqual([text])
    expect(called.ran).toEqual(ran)
    // The second time nothing is open.
    expect(effects).toEqual([true, false])
    expect(called.of('permission_resolved')).toMatchObject([{ by: 'person', args: ran[0] ?? { path: 'a' } }])
    expect(called.result?.status).toBe('completed')
  })

  test('is told of an edit to the model, which sees it beside the result', async () => {
    const called = await whole(mode, { person: ({ callId }, controller) => controller.approve(callId, { args: { path: 'b' } }) })
    expect(JSON.stringify(called.results[0]?.content)).toContain('edited')
    expect(JSON.stringify(called.model.calls[1]?.messages)).toContain('{\\"path\\":\\"b\\"}')
  })

  test.each([
    ['an unknown call', (c: RunController) => c.approve('other')],
    ['a call before its question', (c: RunController) => c.approve('c1')],
    ['an empty id', (c: RunController) => c.deny('')],
  ] as const)('has no effect by an answer to %s', async (_, say) => {
    const said: boolean[] = []
    const called = await whole(mode, {
      person: ({ callId }, controller) => {
        said.push(say(controller))
        controller.deny(callId, 'no')
      },
    })
    expect(said).toEqual([false])
    expect(called.ran).toEqual([])
  })

  test('keeps the question open by arguments that are none', async () => {
    const called = await whole(mode, {
      person: ({ callId }, controller) => {
        for (const args of [[1], { n: 1n }, 'text'] as never[])
          expect(() => controller.approve(callId, { args })).toThrow(ConfigError)
        controller.approve(callId)
      },
    })
    expect(called.ran).toEqual([{ path: 'a' }])
  })

  test('who edits arguments so that they are invalid lets nothing run', async () => {
    const ran: unknown[] = []
    const controller = new RunController()
    const strict = defineTool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({ units: z.number() }),
      execute: (args) => (ran.push(args), 'paid'),
    })
    const desk: Middleware = {
      name: 'desk',
      on_event: onEvents(['permission_request'], ({ callId }) => void controller.approve(callId, { args: { units: 'many' } })),
    }
    const called = await callTools(mode, {
      calls: [{ name: 'pay', args: { units: 9 } }],
      tools: [strict],
      middleware: [desk, asks],
      agent: { approvals: 'wait' },
      run: { controller },
    })
    expect(called.status).toEqual({ c0: 'invalid' })
    expect(ran).toEqual([])
  })

  test('stands innermost: a layer hears the answer, and may still say no', async () => {
    const heard: unknown[] = []
    const veto: Middleware = {
      name: 'veto',
      on_permission_request: async (_, next) => {
        heard.push(await next())
        return deny('not on Sundays')
      },
    }
    const called = await whole(mode, { middleware: [veto, asks], person: ({ callId }, controller) => controller.approve(callId) })
    expect(heard).toMatchObject([{ kind: 'allow' }])
    expect(called.texts).toEqual(['Permission denied: not on Sundays'])
  })

  test.each([
    ['allowed', () => allow(), 'ran'],
    ['denied', () => deny('no'), 'Permission denied: no'],
  ] as const)('is not waited for where a layer has %s', async (_, answer, text) => {
    const { run, slept } = await asked(mode, { middleware: [{ name: 'boss', on_permission_request: answer }, asks] })
    expect((await run).texts).toEqual([text])
    expect(slept).toEqual([])
  })

  test('is asked although a layer further in than the asker has allowed', async () => {
    const called = await whole(mode, {
      middleware: [asks, { name: 'eager', on_permission_request: () => allow() }],
      person: ({ callId }, controller) => controller.deny(callId, 'no'),
    })
    expect(called.texts).toEqual(['Permission denied: no'])
  })

  test('is asked again where a layer makes other arguments of the ones that were shown', async () => {
    const shown: JsonObject[] = []
    let first = true
    const clamp: Middleware = {
      name: 'clamp',
      on_permission_request: (ctx, next) => {
        if (first) ctx.args = { path: 'other' }
        first = false
        return next()
      },
    }
    const called = await whole(mode, {
      middleware: [clamp, asks],
      person: ({ callId, args }, controller) => {
        shown.push(args)
        controller.approve(callId)
      },
    })
    expect(shown).toEqual([{ path: 'a' }, { path: 'other' }])
    expect(called.ran).toEqual([{ path: 'other' }])
  })

  test('sees the arguments that before_tool made, which are the ones that run', async () => {
    const shown: JsonObject[] = []
    const clamp: Middleware = { name: 'clamp', before_tool: (ctx, next) => ((ctx.args = { path: 'clamped' }), next()) }
    const called = await whole(mode, {
      middleware: [asks, clamp],
      person: ({ callId, args }, controller) => {
        shown.push(args)
        controller.approve(callId)
      },
    })
    expect(shown).toEqual([{ path: 'clamped' }])
    expect(called.ran).toEqual([{ path: 'clamped' }])
  })

  test('sees sanitized arguments, and what they leave as it was shown runs as it was', async () => {
    const shown: JsonObject[] = []
    const mask: Middleware = {
      name: 'mask',
      sanitize: (text, [place]) => (place === 'args' ? text.replace('secret', '***') : text),
    }
    const called = await whole(mode, {
      calls: [{ name: 'shell', args: { path: 'a', keys: ['secret', 'open'], deep: { key: 'secret' }, gone: 'secret' } }],
      middleware: [mask, asks],
      person: ({ callId, args }, controller) => {
        shown.push(args)
        controller.approve(callId, { args: { path: 'b', keys: ['***', 'shut', '***'], deep: { key: '***', more: 1 } } })
      },
    })
    expect(shown).toEqual([{ path: 'a', keys: ['***', 'open'], deep: { key: '***' }, gone: '***' }])
    expect(called.ran).toEqual([{ path: 'b', keys: ['secret', 'shut', '***'], deep: { key: 'secret', more: 1 } }])
    expect(JSON.stringify(called.of('permission_resolved'))).not.toContain('secret')
  })

  test('who never answers denies, when the time is over', async () => {
    const { run, ran, slept, controller } = await asked(mode, { timeoutMs: 50 })
    await vi.waitFor(() => expect(slept).toHaveLength(1))
    expect(slept[0]?.ms).toBe(50)
    slept[0]?.end()
    const called = await run
    expect(called.texts).toEqual(['Permission denied: nobody answered within 50 ms'])
    expect(called.of('permission_resolved')[0]).not.toHaveProperty('by')
    expect(controller.approve('c0')).toBe(false)
    expect([ran, called.result?.status]).toEqual([[], 'completed'])
  })

  test('has ten minutes by default', async () => {
    const { run, slept, controller } = await asked(mode, {})
    await vi.waitFor(() => expect(slept).toHaveLength(1))
    expect(slept[0]?.ms).toBe(600_000)
    controller.approve('c0')
    await run
  })

  test('does not hold a run that is cancelled, which leaves nothing behind', async () => {
    const { run, ran, slept, controller } = await asked(mode, {})
    await vi.waitFor(() => expect(slept).toHaveLength(1))
    controller.cancel('enough')
    const called = await run
    expect(called.error ?? called.result?.status).toSatisfy((end) => end === 'cancelled' || end instanceof RunCancelledError)
    expect(called.status).toEqual({ c0: 'cancelled' })
    expect(slept[0]?.signal.aborted).toBe(true)
    expect(controller.cancellation.waiting).toBe(0)
    expect(controller.approve('c0')).toBe(false)
    expect(ran).toEqual([])
  })

  test('is not asked where the run has nobody, whatever the agent of another run has', async () => {
    const agent = new Agent({ model: scripted([{ toolCalls: [call('a')] }, { text: 'done' }]), tools: [tool('shell')] }).use(asks)
    const { events } = await execute(mode, agent)
    expect(events.find(({ type }) => type === 'tool_result')).toMatchObject({
      status: 'denied',
      content: [{ text: expect.stringContaining('nobody to ask') }],
    })
  })

  test('may be asked in one run of an agent that otherwise asks nobody', async () => {
    const controller = new RunController()
    const agent = new Agent({ model: scripted([{ toolCalls: [call('a')] }, { text: 'done' }]), tools: [tool('shell')] }).use(
      asks,
      {
        name: 'desk',
        on_event: onEvents(['permission_request'], ({ callId }) => void controller.approve(callId)),
      },
    )
    const { events } = await execute(mode, agent, 'go', { approvals: 'wait', controller })
    expect(events.find(({ type }) => type === 'tool_result')).toMatchObject({ status: 'ok' })
  })
})

describe.each(modes)('a tool that needs approval (%s)', (mode) => {
  const no: Asked['person'] = ({ callId }, controller) => void controller.deny(callId, 'no')
  test.each([
    ['always', true, [], ['Permission denied: no'], 1],
    ['never', false, [], ['ran'], 0],
    ['by its arguments: these', ({ path }: JsonObject) => path === 'a', [], ['Permission denied: no'], 1],
    ['by its arguments: not these', async ({ path }: JsonObject) => path === 'b', [], ['ran'], 0],
    [
      'by a predicate that fails',
      () => {
        throw new Error('broken')
      },
      [],
      ['Permission denied: no'],
      1,
    ],
    ['and a layer that allows it', true, [{ name: 'boss', on_permission: () => allow() }], ['ran'], 0],
    ['and a layer that allows it at before_tool', true, [{ name: 'boss', before_tool: () => allow() }], ['ran'], 0],
    ['and layers without an opinion', true, [{ name: 'mute', on_permission: (_, next) => next() }], ['Permission denied: no'], 1],
    ['and a layer that answers it', true, [{ name: 'boss', on_permission_request: () => allow() }], ['ran'], 1],
  ] satisfies [string, Asked['needsApproval'], readonly Middleware[], readonly string[], number][])(
    '%s',
    async (_, needsApproval, middleware, texts, questions) => {
      const called = await whole(mode, { needsApproval, middleware, person: no })
      expect(called.texts).toEqual(texts)
      expect(called.of('permission_request')).toHaveLength(questions)
      if (questions > 0)
        expect(called.of('permission_request')[0]).toMatchObject({
          asker: "tool 'shell'",
          reason: expect.stringContaining("'shell' needs approval"),
        })
    },
  )

  test('is asked for the arguments that a person made of the first ones, once', async () => {
    const called = await whole(mode, {
      needsApproval: true,
      middleware: [],
      person: ({ callId }, controller) => controller.approve(callId, { args: { path: 'b' } }),
    })
    expect(called.ran).toEqual([{ path: 'b' }])
    expect(called.of('permission_request')).toHaveLength(1)
  })
})

test.each([['yes'], [1], [null]])('needsApproval %j is refused when the tool is made', (needsApproval) => {
  expect(() => tool('shell', undefined, { needsApproval } as object)).toThrow(
    "tool 'shell': needsApproval is true, false or a function",
  )
})

test.each([['ask'], [{ mode: 'wait' }], [{ mode: 'wait', timeoutMs: 0 }], [{ mode: 'wait', timeoutMs: Infinity }]])(
  'approvals %j are refused when the agent is made',
  (approvals) => {
    expect(() => new Agent({ model: scripted([]), approvals: approvals as never })).toThrow("approvals are 'wait'")
  },
)

describe.each(modes)('a batch (%s)', (mode) => {
  test('runs exactly what was approved, once, whatever the order of the answers', async () => {
    const answer = fc.constantFrom('free', 'yes', 'no', 'edit')
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { minLength: 1, maxLength: 6 }), fc.infiniteStream(fc.nat()), async (answers, picks) => {
        const calls = answers.map((_, n) => call(String(n)))
        const open: string[] = []
        const some: Middleware = {
          name: 'some',
          on_permission: (ctx, next) => (answers[Number(ctx.args['path'])] === 'free' ? next() : ask('sure?')),
        }
        const { run, ran, controller } = await asked(mode, {
          calls,
          middleware: [some],
          person: ({ callId }) => void open.push(callId),
        })
        await settled()
        expect(open).toEqual(answers.flatMap((kind, n) => (kind === 'free' ? [] : [`c${n}`])))
        while (open.length > 0) {
          const [callId = ''] = open.splice(picks.next().value % open.length, 1)
          const kind = answers[Number(callId.slice(1))]
          const say =
            kind === 'no'
              ? controller.deny(callId, 'no')
              : controller.approve(callId, kind === 'edit' ? { args: { path: `${callId}!` } } : {})
          expect(say).toBe(true)
        }
        const called = await run
        expect(called.results.map(({ callId }) => callId)).toEqual(answers.map((_, n) => `c${n}`))
        expect(called.texts).toEqual(answers.map((kind) => (kind === 'no' ? 'Permission denied: no' : 'ran')))
        const expected = answers.flatMap((kind, n) => (kind === 'no' ? [] : [kind === 'edit' ? `c${n}!` : String(n)]))
        expect(ran.map(({ path }) => String(path)).toSorted()).toEqual(expected.toSorted())
      }),
      { numRuns: 40 },
    )
  })
})
