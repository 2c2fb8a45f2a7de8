import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { drop, memorySession, onEvents } from '@koagent/core'
import type { AgentEvent, EventType, Middleware } from '@koagent/core'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import { layer, silent, stage } from '../testing/stage.ts'
import { structural } from './event.ts'

describe('on_event', () => {
  test.for(modes)('gets events one at a time and in order, however slow its layers are (%s)', async (mode) => {
    const seen: string[] = []
    let inside = 0
    const slow: Middleware = {
      name: 'slow',
      on_event: async (ctx, next) => {
        expect(++inside).toBe(1)
        await setImmediate()
        seen.push(ctx.event.id)
        await next()
        inside--
      },
    }
    const { events } = await execute(mode, stage([slow]))
    expectWhole({ events })
    expect(seen).toEqual(events.map(({ id }) => id))
  })

  test.for(modes)('holds the loop: what an event tells of has not gone on when it is seen (%s)', async (mode) => {
    const order: string[] = []
    const { events } = await execute(
      mode,
      stage([
        {
          name: 'slow',
          on_event: onEvents(['step_end', 'turn_end'], async (event) => {
            await setImmediate()
            order.push(event.type)
          }),
          after_turn: (_, next) => (order.push('after_turn'), next()),
          before_tool: (_, next) => (order.push('before_tool'), next()),
        },
      ]),
    )
    expectWhole({ events })
    expect(order.slice(0, 4)).toEqual(['step_end', 'before_tool', 'turn_end', 'after_turn'])
  })

  test.for(modes)('with onEvents gets only what it asked for, and needs no next() (%s)', async (mode) => {
    const seen: EventType[] = []
    const outer: Middleware = {
      name: 'outer',
      on_event: onEvents(['tool_result', 'run_end'], (event) => void seen.push(event.type)),
    }
    const { events } = await execute(mode, stage([outer]))
    expect(seen).toEqual(['tool_result', 'tool_result', 'run_end'])
    expectWhole({ events })
  })

  test.for(modes)('has the session as it was stored by then (%s)', async (mode) => {
    const session = memorySession()
    const counts: number[] = []
    const view: Middleware = {
      name: 'view',
      on_event: onEvents(['step_end', 'turn_end'], (_, ctx) => void counts.push(ctx.session.messages.length)),
    }
    await execute(mode, stage([view]), 'go', { session })
    expect(counts).toEqual([2, 3, 4, 5, 6, 6])
  })
})

describe('a rewrite', () => {
  const loud = onEvents(['text_delta'], (event) => ({ ...event, text: event.text.toUpperCase() }), { rewrite: true })

  test.for(modes)('changes what inner layers and consumers see, and never what is stored (%s)', async (mode) => {
    const session = memorySession()
    const { events, result } = await execute(mode, stage([{ name: 'loud', on_event: loud }]), 'go', { session })
    const text = events.flatMap((event) => (event.type === 'text_delta' ? [event.text] : [])).join('')
    expect(text).toBe('I WILL LOOKALL DONE')
    expect(result?.text).toBe('all done')
    expect(session.messages.at(-1)).toMatchObject({ content: [{ text: 'all done' }] })
  })

  test('leaves type, ids and place as they are', async () => {
    const forge: Middleware = {
      name: 'forge',
      on_event: onEvents(
        ['tool_result', 'text_delta', 'run_end'],
        (event) =>
          ({
            ...event,
            type: 'custom',
            id: 'x',
            runId: 'x',
            agent: 'x',
            path: ['x'],
            turn: 9,
            callId: 'x',
            toolName: 'x',
            stepId: 'x',
            attempt: 9,
            seq: 9,
          }) as never,
        { rewrite: true },
      ),
    }
    const eventsOf = async (middleware: readonly Middleware[]): Promise<readonly AgentEvent[]> =>
      (await execute('stream', stage(middleware, { runtime: { randomId: () => 'r', now: () => 0 } }))).events
    const ids = ['type', 'id', 'runId', 'agent', 'path', 'turn', 'seq', 'callId', 'toolName', 'stepId', 'attempt']
    const kept = (await eventsOf([])).map((event) =>
      Object.fromEntries(Object.entries(event).filter(([name]) => ids.includes(name))),
    )
    expect(await eventsOf([forge])).toMatchObject(kept)
  })

  test.for(modes)('must be asked for (%s)', async (mode) => {
    for (const hook of [
      onEvents(['text_delta'], (() => drop()) as never),
      onEvents(['text_delta'], ((event: AgentEvent) => ({ ...event })) as never),
      (ctx: { event: AgentEvent }, next: () => Promise<void>) => ((ctx.event = { ...ctx.event }), next()),
    ]) {
      const { error, events } = await execute(mode, stage([{ name: 'm', on_event: hook }]))
      expect(error).toMatchObject({ code: 'hook_contract', middleware: 'm', message: expect.stringContaining('rewrite: true') })
      if (mode === 'stream') expectWhole({ events })
    }
  })
})

describe('drop()', () => {
  test('keeps an event from inner layers and consumers, and seq stays without gaps', async () => {
    const on_event = onEvents(['text_delta', 'tool_args_delta'], () => drop(), { rewrite: true })
    const { events } = await execute('stream', stage([{ name: 'quiet', on_event }]))
    expectWhole({ events })
    expect(events.some(({ type }) => type === 'text_delta' || type === 'tool_args_delta')).toBe(false)
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, i) => i))
  })

  test('does not keep back what a consumer waits for', async () => {
    const on_event = onEvents([...structural], () => drop(), { rewrite: true })
    const { events } = await execute('stream', stage([{ name: 'quiet', on_event }]))
    const plain = await execute('stream', stage())
    expect(events.map(({ type }) => type)).toEqual(plain.events.map(({ type }) => type))
  })
})

describe('ctx.emit', () => {
  test.for(modes)('queues a custom event in its place, which its own layer does not get (%s)', async (mode) => {
    const own: string[] = []
    const other: string[] = []
    const emits: Middleware = {
      name: 'emits',
      before_tool: (ctx, next) => {
        ctx.emit('seen', { tool: ctx.toolName, big: 5n })
        return next()
      },
      on_event: onEvents(['custom'], (event) => void own.push(event.name)),
    }
    const { events } = await execute(
      mode,
      stage([emits, { name: 'other', on_event: onEvents(['custom'], (event) => void other.push(event.name)) }]),
    )
    expectWhole({ events })
    expect(own).toEqual([])
    expect(other).toEqual(['seen', 'seen'])
    const custom = events.filter((event) => event.type === 'custom')
    expect(custom[0]).toMatchObject({ name: 'seen', middleware: 'emits', toolName: 'look', data: { tool: 'look', big: '5' } })
    const at = events.findIndex(({ type }) => type === 'custom')
    expect(events[at - 1]?.type).toBe('tool_call_begin')
  })

  test.for(modes)('from on_event comes after that event and makes no circle (%s)', async (mode) => {
    const seen: EventType[] = []
    const echo: Middleware = { name: 'echo', on_event: (ctx, next) => (ctx.emit('echo', ctx.event.type), next()) }
    const other: Middleware = { name: 'other', on_event: (ctx, next) => (seen.push(ctx.event.type), next()) }
    const { events } = await execute(mode, stage([echo, other]))
    expect(seen).not.toContain('custom')
    if (mode === 'run') return
    expectWhole({ events })
    events.forEach((event, i) => {
      if (event.type === 'custom') expect(event.data).toBe(events[i - 1]?.type)
    })
    // The last event is the last.
    expect(events.filter(({ type }) => type === 'custom')).toHaveLength(seen.length - 1)
  })
})

describe('a failing on_event layer', () => {
  const fails: Middleware = {
    name: 'fails',
    on_event: onEvents(['tool_result'], () => {
      throw new Error('observer')
    }),
  }

  test('never loses its event, and fails the run at the loop, not the tool', async () => {
    const asked: string[] = []
    const session = memorySession()
    const asks = layer(
      'asks',
      'on_error',
      (ctx, next) => (asked.push(`${ctx['phase'] as string} ${(ctx['error'] as Error).message}`), next()),
    )
    const { error, events } = await execute('stream', stage([asks, fails]), 'go', { session })
    expect(error).toMatchObject({ message: 'observer' })
    expectWhole({ events }, session.messages)
    expect(events.filter(({ type }) => type === 'tool_result')).toMatchObject([{ toolName: 'look', status: 'ok' }])
    expect(events.filter(({ type }) => type === 'hook_error')).toMatchObject([{ middleware: 'fails', point: 'on_event' }])
    expect(asked).toEqual(['hook observer'])
  })

  test.for(['log', 'ignore'] as const)('under %s fails nothing', async (errors) => {
    const logged: unknown[] = []
    const logger = { ...silent, error: (...data: unknown[]) => logged.push(data) }
    const { result, events } = await execute('stream', stage([{ ...fails, errors }], { logger }))
    expect(result?.status).toBe('completed')
    expect(events.filter(({ type }) => type === 'hook_error')).toHaveLength(2)
    expect(logged).toHaveLength(errors === 'log' ? 2 : 0)
  })

  test.for(modes)('may have its error replaced by on_error (%s)', async (mode) => {
    const better = new Error('better')
    const { error } = await execute(
      mode,
      stage([
        layer('asks', 'on_error', (ctx) => ({ kind: 'raise', error: ctx['phase'] === 'hook' ? better : ctx['error'] })),
        fails,
      ]),
    )
    expect(error).toBe(better)
  })
})

test('events are frozen, plain JSON', async () => {
  const { events } = await execute('stream', stage())
  for (const event of events) {
    expect(JSON.parse(JSON.stringify(event))).toEqual(event)
    expect(Object.isFrozen(event)).toBe(true)
    for (const value of Object.values(event)) if (typeof value === 'object') expect(Object.isFrozen(value)).toBe(true)
  }
})
