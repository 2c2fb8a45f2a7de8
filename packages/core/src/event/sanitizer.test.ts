import { describe, expect, test } from 'vitest'
import { ask as askFor, allow, deny, memorySession, onEvents, replace_result } from '@koagent/core'
import type { AgentEvent, AnyMiddleware, Json, Middleware } from '@koagent/core'
import { ask, busy, work } from '../testing/ask.ts'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import type { Mode } from '../testing/kit.ts'
import { stage } from '../testing/stage.ts'
import { Agent } from '../agent.ts'
import { scripted } from '../scripted.ts'
import { Sanitizer } from './sanitizer.ts'

const secret = 'hunter2'
const hide: Middleware = { name: 'hide', sanitize: (text) => text.replaceAll(secret, '***') }

/** A run that has the secret in every place that takes text. */
async function leaky(mode: Mode, layers: readonly AnyMiddleware[]) {
  const session = memorySession({ id: `s-${secret}` })
  const chatty: Middleware = {
    name: `chatty-${secret}`,
    on_permission: (ctx, next) => (ctx.args['path'] === 'asked' ? askFor(`may ${secret}?`) : next()),
    before_tool: (ctx, next) => {
      ctx.emit(`custom-${secret}`, { type: secret, name: [secret], deep: { id: `my ${secret}` } })
      return ctx.args['path'] === 'blocked' ? deny(`no ${secret}`) : next()
    },
    around_tool: (ctx, next) => (void ctx.progress({ status: secret }), next()),
    after_llm_step: (_, next) => next(),
  }
  const args = (path: string) => ({ path, code: secret, list: [{ status: secret }] })
  const model = scripted([
    {
      reasoning: secret,
      text: secret,
      toolCalls: [
        { name: 'work', args: args('asked') },
        { name: 'work', args: args('blocked') },
      ],
    },
    {
      toolCalls: [{ name: 'work', args: args('plain') }, { name: 'work', args: `{"broken ${secret}` }, { name: `no_${secret}` }],
    },
    { text: `it is ${secret}` },
  ])
  const agent = new Agent({ model, tools: [work], trace: true, name: `agent-${secret}` }).use(chatty, ...(layers as Middleware[]))
  return { ...(await execute(mode, agent, `remember ${secret}`, { session })), session, model }
}

/** Strings of an event with the fields that lead to them. */
function* strings(value: unknown, path: readonly string[] = []): Generator<[string, string]> {
  if (typeof value === 'string') yield [path.join('.'), value]
  else if (typeof value === 'object' && value !== null)
    for (const [key, item] of Object.entries(value)) yield* strings(item, [...path, key])
}

const leaks = (events: readonly AgentEvent[]): Set<string> =>
  new Set(
    events.flatMap((event) =>
      [...strings(event)].flatMap(([path, text]) =>
        text.includes(secret) ? [`${event.type} ${path.replace(/\.\d+/g, '')}`] : [],
      ),
    ),
  )

describe('a sanitizer', () => {
  test.for(modes)('covers every content string of every event, and no id, name or type (%s)', async (mode) => {
    const { events, session } = await leaky(mode, [hide])
    expectWhole({ events }, session.messages)
    const left = [...leaks(events)].filter((where) => !/[ .](agent|middleware|asker|by|name|toolName)$/.test(where))
    // Deltas of text are for transforms.
    expect(left.toSorted()).toEqual(['reasoning_delta text', 'text_delta text'])
    const covered = leaks((await leaky(mode, [])).events)
    for (const where of [
      'run_begin input.content.text',
      'tool_args_delta delta',
      'step_end message.content.text',
      'step_end message.content.args.code',
      'step_end message.content.rawArgs',
      'tool_call_begin args.list.status',
      'permission_request reason',
      'permission_request args.code',
      'permission_resolved reason',
      'tool_result content.text',
      'tool_result args.code',
      'tool_result rawArgs',
      'tool_result error.message',
      'custom data.type',
      'custom data.deep.id',
      'hook_applied reason',
      'run_end text',
    ]) {
      expect([...covered]).toContain(where)
      expect(left).not.toContain(where)
    }
  })

  test.for(modes)('covers what layers changed and reworded, in hook_applied (%s)', async (mode) => {
    const rewrite: Middleware = {
      name: 'rewrite',
      on_input: (ctx, next) => ((ctx.message = { role: 'user', content: [{ type: 'text', text: `more ${secret}` }] }), next()),
    }
    const { events } = await leaky(mode, [rewrite, hide])
    const applied = events.filter((event) => event.type === 'hook_applied' && event.middleware === 'rewrite')
    expect(applied).toMatchObject([
      { point: 'on_input', changes: [{ field: 'message', after: { content: [{ text: 'more ***' }] } }] },
    ])
  })

  test.for(modes)('covers errors of the run and of hooks (%s)', async (mode) => {
    const error = new Error(`cannot open ${secret}`)
    const { events, error: thrown } = await ask(mode, [{ error }], [hide])
    expect(thrown).toBe(error)
    expect(events.find((event) => event.type === 'error')).toMatchObject({ error: { message: 'cannot open ***' } })
    expect(events.at(-1)).toMatchObject({ reason: 'cannot open ***' })
    const failing = await ask(
      mode,
      [{ text: 'x' }],
      [
        hide,
        {
          name: 'fails',
          errors: 'ignore',
          before_turn: () => {
            throw new Error(`by ${secret}`)
          },
        },
      ],
    )
    expect(failing.events.find((event) => event.type === 'hook_error')).toMatchObject({ error: { message: 'by ***' } })
  })

  test.for(modes)('leaves result, session, requests and arguments as they are (%s)', async (mode) => {
    const { result, session, model } = await leaky(mode, [hide])
    expect(result?.text).toBe(`it is ${secret}`)
    expect(JSON.stringify(session.messages)).toContain(secret)
    expect(JSON.stringify(model.calls[1]?.messages)).toContain(secret)
  })

  test('works before on_event and again after it, whatever the order of layers', async () => {
    const seen: string[] = []
    const adds: Middleware = {
      name: 'adds',
      on_event: onEvents(
        ['run_begin'],
        (event) => {
          seen.push(JSON.stringify(event))
          return { ...event, input: { role: 'user', content: [{ type: 'text', text: `again ${secret}` }] } }
        },
        { rewrite: true },
      ),
    }
    for (const order of [
      [adds, hide],
      [hide, adds],
    ]) {
      const { events } = await leaky('stream', order)
      expect(seen.at(-1)).toContain('remember ***')
      expect(events[0]).toMatchObject({ input: { content: [{ text: 'again ***' }] } })
    }
  })

  test.for(modes)('that throws withholds the string (%s)', async (mode) => {
    const throws: Middleware = {
      name: 'throws',
      sanitize: (text) => {
        if (text.includes(secret)) throw new Error('no')
        return text
      },
    }
    const { events, result } = await leaky(mode, [throws])
    expect(result?.text).toBe(`it is ${secret}`)
    expect(events.at(-1)).toMatchObject({ text: expect.stringMatching(/withheld/) })
    expect(leaks(events.filter(({ type }) => type === 'tool_result')).has('tool_result args.code')).toBe(false)
  })

  test.for(modes)('has the arguments of a call wait until they are whole (%s)', async (mode) => {
    const parts = [
      { type: 'tool_call_delta', callId: 'c', toolName: 'work', delta: '{"code":"hun' },
      { type: 'tool_call_delta', callId: 'c', toolName: 'work', delta: 'ter2"}' },
      { type: 'tool_call', callId: 'c', toolName: 'work', args: '{"code":"hunter2"}' },
      { type: 'finish', reason: 'tool_calls' },
    ] as const
    const deltas = async (layers: readonly Middleware[]): Promise<readonly string[]> =>
      (await ask(mode, [{ parts }, { text: 'done' }], layers)).events.flatMap((event) =>
        event.type === 'tool_args_delta' ? [event.delta] : [],
      )
    expect(await deltas([])).toEqual(['{"code":"hun', 'ter2"}'])
    expect(await deltas([hide])).toEqual(['{"code":"***"}'])
  })

  test.for(modes)('serves a layer by ctx.sanitize (%s)', async (mode) => {
    const got: Json[] = []
    const uses: Middleware = {
      name: 'uses',
      before_run: (ctx, next) => (got.push(ctx.sanitize({ type: `my ${secret}`, list: [secret, 1, null] })), next()),
    }
    await execute(mode, stage([uses, hide]))
    await execute(mode, stage([uses]))
    expect(got).toEqual([
      { type: 'my ***', list: ['***', 1, null] },
      { type: `my ${secret}`, list: [secret, 1, null] },
    ])
  })

  test.for(modes)('of several all apply, each to what the one before it made (%s)', async (mode) => {
    const { events } = await leaky(mode, [hide, { name: 'stars', sanitize: (text) => text.replaceAll('***', '[star]') }])
    expect(events.at(-1)).toMatchObject({ text: 'it is [star]' })
  })

  test.for(modes)('does not touch what a run asks for with a retry and a replacement (%s)', async (mode) => {
    const { events, result } = await ask(
      mode,
      [{ error: busy() }],
      [hide, { name: 'm', on_error: () => replace_result(`got ${secret}`) }],
    )
    expect(result?.text).toBe(`got ${secret}`)
    expect(events.find((event) => event.type === 'step_end')).toMatchObject({ message: { content: [{ text: 'got ***' }] } })
  })
})

test('a sanitizer gets the names of the fields that lead to the string', () => {
  const paths: string[] = []
  const sanitizer = new Sanitizer([(text, path) => (paths.push(path.join('.')), text)])
  sanitizer.event({ type: 'tool_result', content: [{ type: 'text', text: 'a' }], args: { type: 'b' } } as never)
  expect(paths).toEqual(['content.0.text', 'args.type'])
})

test('a question may be answered though its reason was sanitized', async () => {
  const yes: Middleware = { name: 'yes', on_permission: () => askFor(`may ${secret}?`), on_permission_request: () => allow() }
  const { events } = await ask('stream', [{ toolCalls: [{ name: 'work' }] }, { text: 'done' }], [hide, yes])
  expect(events.find((event) => event.type === 'permission_request')).toMatchObject({ reason: 'may ***?' })
})
