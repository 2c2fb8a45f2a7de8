import { describe, expect, test } from 'vitest'
import { deny, drop, onEvents } from '@koagent/core'
import type { AgentEvent, Ctx, EventType, Middleware } from '@koagent/core'
import { structural } from '../event/event.ts'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import { comparable, layer, silent, stage } from '../testing/stage.ts'

/** The events that a layer gets. */
function listener(name: string, into: AgentEvent[], types?: readonly EventType[]): Middleware {
  if (types) return { name, on_event: onEvents(types, (event) => void into.push(event)) }
  return { name, on_event: (ctx, next) => (into.push(ctx.event), next()) }
}

const typesOf = (events: readonly AgentEvent[]): string[] => events.map((event) => event.type)

describe('onEvents', () => {
  test.for(modes)(
    'gives a layer the types it asked for, each event once and in order, and needs no next() (%s)',
    async (mode) => {
      const all: AgentEvent[] = []
      const some: AgentEvent[] = []
      const inner: AgentEvent[] = []
      const outcome = await execute(
        mode,
        stage([
          listener('some', some, ['tool_result', 'turn_begin']),
          listener('none', [], []),
          listener('all', all),
          listener('inner', inner),
        ]),
      )
      expectWhole(outcome)
      expect(some).toEqual(all.filter((event) => event.type === 'tool_result' || event.type === 'turn_begin'))
      expect(inner).toEqual(all)
      expect(typesOf(all)).toEqual(typesOf(outcome.events))
    },
  )

  test.for(modes)('handles asynchronously too, one event at a time (%s)', async (mode) => {
    let open = 0
    const seen: string[] = []
    const slow: Middleware = {
      name: 'slow',
      on_event: onEvents(['turn_begin', 'tool_result', 'run_end'], async (event) => {
        expect(open++).toBe(0)
        for (let i = 0; i < 5; i++) await Promise.resolve()
        open--
        seen.push(event.type)
      }),
    }
    const outcome = await execute(mode, stage([slow]))
    expect(outcome.error).toBeUndefined()
    expect(seen).toEqual(['turn_begin', 'tool_result', 'turn_begin', 'tool_result', 'turn_begin', 'run_end'])
  })

  test('is asked for: rewriting or dropping without that is refused by name', async () => {
    const change = [(event: AgentEvent) => ({ ...event }), () => drop()] as const
    for (const handler of change) {
      for (const hook of [onEvents(['turn_begin'], handler as never), change[1] as never]) {
        const { error } = await execute('stream', stage([{ name: 'culprit', on_event: hook }]))
        expect(error).toMatchObject({ code: 'hook_contract', middleware: 'culprit', point: 'on_event' })
        expect((error as Error).message).toContain('rewrite: true')
      }
    }
  })

  test('rewrites what layers further in and consumers get; type, ids and the session stay', async () => {
    const inner: AgentEvent[] = []
    const rewriting: Middleware = {
      name: 'rewriting',
      on_event: onEvents(
        ['tool_result'],
        (event) =>
          ({ ...event, type: 'run_end', id: 'x', runId: 'x', callId: 'x', toolName: 'x', turn: 99, content: [] }) as never,
        { rewrite: true },
      ),
    }
    const plain = await execute('stream', stage())
    const outcome = await execute('stream', stage([rewriting, listener('inner', inner, ['tool_result'])]))
    expectWhole(outcome)
    const results = outcome.events.filter((event) => event.type === 'tool_result')
    expect(results).toMatchObject([
      { callId: 'call_1', toolName: 'look', turn: 0, content: [], runId: outcome.result?.runId },
      { callId: 'call_2', toolName: 'broken', turn: 1, content: [] },
    ])
    expect(inner).toMatchObject(results.map(({ seq: _seq, ...event }) => event))
    expect(comparable({ ...outcome, events: [] })).toEqual(comparable({ ...plain, events: [] }))
  })

  test('rewrites of several layers build on one another, and are frozen', async () => {
    const add = (letter: string): Middleware => ({
      name: letter,
      on_event: onEvents(['text_delta'], async (event) => ({ ...event, text: event.text + letter }), { rewrite: true }),
    })
    const { events } = await execute('stream', stage([add('A'), add('B')]))
    const deltas = events.filter((event) => event.type === 'text_delta')
    expect(deltas.length).toBeGreaterThan(0)
    for (const delta of deltas) expect([delta.text.slice(-2), Object.isFrozen(delta)]).toEqual(['AB', true])
  })

  test.for([null, 5, 'text', true, []])('%o is no event', async (value) => {
    const culprit: Middleware = { name: 'culprit', on_event: onEvents(['turn_begin'], () => value as never, { rewrite: true }) }
    const { error, events } = await execute('stream', stage([culprit]))
    expect(error).toMatchObject({ code: 'hook_contract', middleware: 'culprit', point: 'on_event' })
    expect(events.find((event) => event.type === 'turn_begin')).toMatchObject({ turn: 0, agent: 'agent' })
  })

  test('drops what is not structural; numbers have no gaps then', async () => {
    const types = typesOf((await execute('stream', stage())).events)
    for (const type of new Set(types) as Set<EventType>) {
      const dropping: Middleware = { name: 'dropping', on_event: onEvents([type], () => drop(), { rewrite: true }) }
      const { events } = await execute('stream', stage([dropping]))
      expect(typesOf(events)).toEqual(types.filter((one) => one !== type || structural.has(type)))
      expect(events.map((event) => event.seq)).toEqual(events.map((_event, i) => i))
    }
  })
})

describe('events that a layer causes', () => {
  test.for(modes)('never come back to it, and do come to the others (%s)', async (mode) => {
    const [own, others]: [AgentEvent[], AgentEvent[]] = [[], []]
    const emitting: Middleware = {
      name: 'emitting',
      before_turn: (ctx, next) => (ctx.emit('noted', { turn: ctx.turn }), next()),
      around_tool: (ctx, next) => (void ctx.progress('half'), next()),
      on_event: onEvents(['custom', 'tool_progress'], (event) => void own.push(event)),
    }
    const outcome = await execute(mode, stage([listener('outer', others, ['custom', 'tool_progress']), emitting]))
    expect(own).toEqual([])
    expect(others).toMatchObject([
      { type: 'custom', name: 'noted', data: { turn: 0 }, middleware: 'emitting' },
      { type: 'tool_progress', data: 'half', callId: 'call_1' },
      { type: 'custom', data: { turn: 1 } },
      { type: 'tool_progress', data: 'half', callId: 'call_2' },
      { type: 'custom', data: { turn: 2 } },
    ])
    expect(typesOf(outcome.events).filter((type) => type === 'custom')).toHaveLength(3)
  })

  test.for(modes)('of its own failure do not come back to it either (%s)', async (mode) => {
    const [own, others]: [AgentEvent[], AgentEvent[]] = [[], []]
    const failing = layer(
      'failing',
      'before_turn',
      () => {
        throw new Error('no')
      },
      { errors: 'log', on_event: onEvents(['hook_error'], (event) => void own.push(event)) },
    )
    await execute(mode, stage([failing, listener('other', others, ['hook_error'])]))
    expect([own.length, others.length]).toEqual([0, 3])
  })

  test('while an event is under way come after it, and skip on_event', async () => {
    const seen: AgentEvent[] = []
    const chatty: Middleware = {
      name: 'chatty',
      errors: 'log',
      on_event(ctx: Ctx<'on_event'>, next) {
        if (ctx.event.type !== 'turn_begin') return next()
        ctx.emit('before')
        return next().then(() => {
          ctx.emit('after')
          throw new Error('of the observer')
        })
      },
    }
    const { events, result } = await execute('stream', stage([listener('outer', seen), chatty, listener('inner', seen)]))
    expect(result?.status).toBe('completed')
    const at = events.findIndex((event) => event.type === 'turn_begin')
    expect(events.slice(at, at + 4)).toMatchObject([
      { type: 'turn_begin' },
      { type: 'custom', name: 'before', middleware: 'chatty' },
      { type: 'custom', name: 'after', middleware: 'chatty' },
      { type: 'hook_error', middleware: 'chatty', point: 'on_event', error: { message: 'of the observer' } },
    ])
    expect(seen.filter((event) => event.type === 'custom' || event.type === 'hook_error')).toEqual([])
    expect(events.map((event) => event.seq)).toEqual(events.map((_event, i) => i))
  })
})

describe('a layer that fails at on_event', () => {
  const plainTypes = async (): Promise<string[]> => typesOf((await execute('stream', stage())).events)

  test('never loses the event, and fails the run at its loop, not the tool whose event it was', async () => {
    for (const type of new Set(await plainTypes()) as Set<EventType>) {
      const error = new Error(`no ${type}`)
      let thrown = 0
      const failing: Middleware = {
        name: 'failing',
        on_event: onEvents([type], () => {
          thrown++
          throw error
        }),
      }
      const logged: unknown[] = []
      const outcome = await execute(
        'stream',
        stage([failing], { logger: { ...silent, error: (...data) => void logged.push(...data) } }),
      )
      expectWhole(outcome)
      expect(typesOf(outcome.events)).toContain(type)
      expect(thrown).toBeGreaterThan(0)
      expect(typesOf(outcome.events).filter((one) => one === 'hook_error')).toHaveLength(type === 'run_end' ? 0 : thrown)
      for (const event of outcome.events) if (event.type === 'tool_result') expect(event.status).not.toBe('withheld')
      // Once the outcome has been told, only the log is left.
      if (type === 'run_end') expect([outcome.result?.status, logged]).toEqual(['completed', [expect.any(String), error]])
      else expect(outcome.error).toBe(error)
    }
  })

  test.for(['log', 'ignore'] as const)("under '%s' lets the run go on, and the event too", async (errors) => {
    const plain = await execute('stream', stage())
    const failing: Middleware = {
      name: 'failing',
      errors,
      on_event: onEvents(
        ['tool_result', 'text_delta'],
        (): never => {
          throw new Error('no')
        },
        { rewrite: true },
      ),
    }
    const outcome = await execute('stream', stage([failing]))
    expect(comparable(outcome, ['hook_error'])).toEqual(comparable(plain))
  })

  test.for(['raise', 'log', 'ignore'] as const)(
    "hides no event from the others, outside or inside, under '%s'",
    async (errors) => {
      const [outer, inner]: [AgentEvent[], AgentEvent[]] = [[], []]
      const failing = layer(
        'failing',
        'on_event',
        () => {
          throw new Error('no')
        },
        { errors },
      )
      const { events } = await execute('stream', stage([listener('outer', outer), failing, listener('inner', inner)]))
      const seen = typesOf(events).filter((type) => type !== 'hook_error')
      expect([typesOf(outer), typesOf(inner)]).toEqual([seen, seen])
    },
  )
})

test.for(modes)('a denied run tells its events like any other (%s)', async (mode) => {
  const seen: AgentEvent[] = []
  const denier = layer('denier', 'before_run', () => deny('closed'))
  const outcome = await execute(mode, stage([denier, listener('all', seen)]))
  expectWhole(outcome)
  expect(typesOf(seen)).toEqual(['run_begin', 'run_end'])
})
