import { describe, expect, test } from 'vitest'
import { Agent, deny, memorySession, replace_result, SessionBusyError } from '@koagent/core'
import type { Message, Middleware, Session } from '@koagent/core'
import { inspect } from '../session/pairs.ts'
import { scripted } from '../scripted.ts'
import { work } from '../testing/ask.ts'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import { silent } from '../testing/stage.ts'

const answers = (count = 9) => scripted(Array.from({ length: count }, (_, i) => ({ text: `answer ${i + 1}` })))
const said = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
const texts = ({ messages }: Session): readonly string[] =>
  messages.map(({ content }) => content.map((part) => ('text' in part ? part.text : part.type)).join())

/** Writes down when sessions start and end. */
const watching = (log: string[]): Middleware => ({
  name: 'watching',
  on_session_start: (ctx, next) => (log.push(`start ${ctx.source}`), next()),
  on_session_end: (ctx, next) => (log.push(`end ${ctx.reason}`), next()),
})

describe('a session of the run’s own', () => {
  test.for(modes)('starts and ends with it (%s)', async (mode) => {
    const log: string[] = []
    const agent = new Agent({ model: answers(), middleware: [watching(log)] })
    await execute(mode, agent)
    await execute(mode, agent)
    expect(log).toEqual(['start startup', 'end run_end', 'start startup', 'end run_end'])
  })

  test.for(modes)('ends also when the run fails or is cancelled (%s)', async (mode) => {
    const log: string[] = []
    const agent = new Agent({ model: scripted([]), middleware: [watching(log)], logger: silent })
    await execute(mode, agent)
    const cancels: Middleware = { name: 'cancels', before_run: (ctx, next) => (ctx.controller.cancel(), next()) }
    await execute(mode, agent.use(cancels))
    expect(log).toEqual(['start startup', 'end run_end', 'start startup', 'end run_end'])
  })
})

describe('a given session', () => {
  test.for(modes)('starts with its first run in the process, and again after it was ended (%s)', async (mode) => {
    const log: string[] = []
    const agent = new Agent({ model: answers(), middleware: [watching(log)] })
    const session = memorySession()
    await execute(mode, agent, 'one', { session })
    await execute(mode, agent, 'two', { session })
    await agent.endSession(session, 'logout')
    await agent.endSession(session, 'twice')
    await execute(mode, agent, 'three', { session })
    expect(log).toEqual(['start startup', 'end logout', 'start resume'])
  })

  test.for(modes)('that has messages is resumed (%s)', async (mode) => {
    const log: string[] = []
    const session = memorySession({ messages: [said('before'), { role: 'assistant', content: [{ type: 'text', text: 'yes' }] }] })
    const model = answers()
    await execute(mode, new Agent({ model, middleware: [watching(log)] }), 'go', { session })
    expect(log).toEqual(['start resume'])
    expect(model.calls[0]?.messages).toHaveLength(3)
  })
})

describe('the notes of on_session_start', () => {
  const notes: Middleware = { name: 'notes', on_session_start: (ctx, next) => (ctx.addContext('be kind'), next()) }
  const note: Message = { role: 'user', content: [{ type: 'text', text: 'be kind', added: true }] }

  test.for(modes)('stand before the first message, once, in the order of layers (%s)', async (mode) => {
    const session = memorySession()
    const model = answers()
    const more: Middleware = { name: 'more', on_session_start: (ctx, next) => (ctx.addContext('and brief'), next()) }
    const agent = new Agent({ model, middleware: [notes, more] })
    await execute(mode, agent, 'one', { session })
    await execute(mode, agent, 'two', { session })
    expect(texts(session)).toEqual(['be kind\nand brief', 'one', 'answer 1', 'two', 'answer 2'])
    expect(model.calls[0]?.messages).toHaveLength(2)
  })

  const holdUps: [string, Omit<Middleware, 'name'>, readonly string[]][] = [
    ['was denied at before_run', { before_run: () => deny('no') }, []],
    ['was denied at on_input', { on_input: () => deny('no') }, []],
    ['was answered by a layer', { before_run: () => replace_result('instead') }, ['be kind', 'one', 'instead']],
  ]
  test.for(holdUps.flatMap((row) => modes.map((mode) => [...row, mode] as const)))(
    'wait for the first message that goes in, when the first run %s ($3)',
    async ([, hooks, after, mode]) => {
      const session = memorySession()
      const agent = new Agent({ model: answers(), middleware: [notes] })
      await execute(mode, agent.use({ name: 'hold', ...hooks }), 'one', { session })
      expect(texts(session)).toEqual(after)
      await execute(mode, agent, 'two', { session })
      expect(session.messages[0]).toEqual(note)
      expect(texts(session).slice(after.length || 1)).toEqual(['two', 'answer 1'])
      expect(texts(session).filter((text) => text === 'be kind')).toHaveLength(1)
    },
  )
})

describe('endSession', () => {
  test('gives its layers a limit together, then it is over', async () => {
    const logged: unknown[] = []
    const logger = { ...silent, error: (...data: unknown[]) => logged.push(data) }
    const agent = new Agent({
      model: answers(),
      logger,
      middleware: [{ name: 'hangs', on_session_end: () => new Promise<never>(() => {}) }],
    })
    const session = memorySession()
    await agent.run('go', { session })
    await agent.endSession(session, 'logout', { timeoutMs: 20 })
    expect(logged).toMatchObject([[expect.stringContaining('logout'), { name: 'TimeoutError' }]])
  })

  test('logs the failure of a layer', async () => {
    const logged: unknown[][] = []
    const logger = { ...silent, error: (...data: unknown[]) => void logged.push(data) }
    const boom = new Error('boom')
    const fails: Middleware = {
      name: 'fails',
      on_session_end: () => {
        throw boom
      },
    }
    const agent = new Agent({ model: answers(), logger, middleware: [fails] })
    const session = memorySession()
    await agent.run('go', { session })
    await agent.endSession(session, 'logout')
    expect(logged.flat()).toContain(boom)
  })

  test('of a session that never started does nothing', async () => {
    const log: string[] = []
    await new Agent({ model: answers(), middleware: [watching(log)] }).endSession(memorySession(), 'logout')
    expect(log).toEqual([])
  })
})

describe('one run a session', () => {
  test.for(modes)('a second one is refused and told who holds it; it enters no hook (%s)', async (mode) => {
    const session = memorySession({ id: 's' })
    const log: string[] = []
    let free: (() => void) | undefined
    const held = new Promise<void>((resolve) => (free = resolve))
    const agent = new Agent({
      model: answers(),
      runtime: { randomId: () => 'holder' },
      middleware: [{ name: 'holds', before_turn: async (_, next) => (await held, next()) }],
    })
    const first = agent.run('one', { session })
    await Promise.resolve()
    const second = await execute(mode, new Agent({ model: answers(), middleware: [watching(log)] }), 'two', { session })
    expect(second.error).toBeInstanceOf(SessionBusyError)
    expect(second.error).toMatchObject({ holder: 'holder', sessionId: 's', message: expect.stringContaining("'holder'") })
    expect(second.events.map(({ type }) => type)).toEqual(['run_begin', 'error', 'run_end'])
    expect(log).toEqual([])
    free?.()
    expect((await first).text).toBe('answer 1')
    expect(texts(session)).toEqual(['one', 'answer 1'])
    expect((await execute(mode, new Agent({ model: answers() }), 'three', { session })).result?.status).toBe('completed')
  })

  const inside: [string, (agent: Agent, given: Session) => Omit<Middleware, 'name'>][] = [
    [
      'the session itself',
      (agent, given) => ({ before_turn: async (_, next) => (await agent.run('inner', { session: given }), next()) }),
    ],
    [
      'a ctx.session that may be written',
      (agent) => ({ before_turn: async (ctx, next) => (await agent.run('inner', { session: ctx.session }), next()) }),
    ],
    [
      'a ctx.session that may not',
      (agent) => ({ before_tool: async (ctx, next) => (await agent.run('inner', { session: ctx.session as Session }), next()) }),
    ],
  ]
  test.for(inside.flatMap((row) => modes.map((mode) => [...row, mode] as const)))(
    'one from inside the run is refused at once, by %s ($2)',
    async ([, hooks, mode]) => {
      const session = memorySession()
      const agent = new Agent({ model: scripted([{ toolCalls: [{ name: 'work' }] }]), logger: silent })
      const withTool = new Agent({
        model: scripted([{ toolCalls: [{ name: 'work' }] }]),
        middleware: [{ name: 'nests', ...hooks(agent, session) }],
        tools: [work],
        logger: silent,
      })
      const { error, events } = await execute(mode, withTool, 'go', { session })
      expect(error).toBeInstanceOf(SessionBusyError)
      expectWhole({ events }, session.messages)
    },
  )

  test.for(modes)('what is no session is refused (%s)', async (mode) => {
    const { error } = await execute(mode, new Agent({ model: answers() }), 'go', { session: { id: 'x', messages: [] } as never })
    expect(error).toMatchObject({ code: 'config', message: expect.stringContaining('append') })
  })

  test.for(modes)('a session kept from a run that is over takes no writes (%s)', async (mode) => {
    let kept: Session | undefined
    const session = memorySession()
    await execute(
      mode,
      new Agent({ model: answers(), middleware: [{ name: 'keeps', before_run: (ctx, next) => ((kept = ctx.session), next()) }] }),
      'go',
      { session },
    )
    expect(() => kept?.append([said('late')])).toThrow(/is over/)
    expect(texts(session)).toEqual(['go', 'answer 1'])
  })
})

describe('a history that was left half-written', () => {
  const call = { type: 'tool_call', callId: 'c', toolName: 'work', args: {} } as const
  const broken: [string, readonly Message[]][] = [
    ['without a result', [said('hi'), { role: 'assistant', content: [call] }]],
    ['without a result in the middle', [said('hi'), { role: 'assistant', content: [call] }, said('more')]],
    [
      'with a result of nothing',
      [
        said('hi'),
        { role: 'tool', content: [{ type: 'tool_result', callId: 'x', toolName: 'work', content: [], isError: false }] },
      ],
    ],
    ['with one id twice', [said('hi'), { role: 'assistant', content: [call, call] }]],
  ]
  test.for(broken.flatMap((row) => modes.map((mode) => [...row, mode] as const)))(
    '%s is made whole before anything reads it ($2)',
    async ([, messages, mode]) => {
      const session = memorySession({ messages })
      const seen: unknown[] = []
      const looks: Middleware = {
        name: 'looks',
        on_session_start: (ctx, next) => (seen.push(inspect(ctx.session.messages).problem), next()),
      }
      const model = answers()
      const { result } = await execute(mode, new Agent({ model, middleware: [looks] }), 'go on', { session })
      expect(result?.text).toBe('answer 1')
      expect(seen).toEqual([undefined])
      expect(inspect(model.calls[0]?.messages ?? []).problem).toBeUndefined()
      expect(inspect(session.messages).problem).toBeUndefined()
    },
  )

  test.for(modes)('that cannot be mended is a failure of the session (%s)', async (mode) => {
    const inner = memorySession({ messages: broken[0]?.[1] ?? [] })
    const boom = new Error('read only')
    const session: Session = { id: 's', messages: inner.messages, append: inner.append, replace: () => Promise.reject(boom) }
    const outcome = await execute(mode, new Agent({ model: answers(), logger: silent }), 'go', { session })
    expect(outcome.error).toBe(boom)
    expectWhole(outcome)
  })
})

describe('a session that fails to write', () => {
  test.for(modes)('fails the run at any write, which still ends in order and lets go of it (%s)', async (mode) => {
    for (let at = 0; at < 4; at++) {
      const inner = memorySession()
      const boom = new Error(`write ${at}`)
      let writes = 0
      const session: Session = {
        id: 's',
        get messages() {
          return inner.messages
        },
        append: async (messages) => {
          if (writes++ === at) throw boom
          await inner.append(messages)
        },
        replace: inner.replace,
      }
      const phases: string[] = []
      const asks: Middleware = { name: 'asks', on_error: (ctx, next) => (phases.push(ctx.phase), next()) }
      const agent = new Agent({
        model: scripted([{ toolCalls: [{ name: 'work' }] }, { text: 'done' }, { text: 'next' }]),
        tools: [work],
        middleware: [asks],
        logger: silent,
      })
      const { error, events } = await execute(mode, agent, 'go', { session })
      expect(error).toBe(boom)
      expect(phases).toEqual(['session'])
      expectWhole({ events })
      expect((await execute(mode, new Agent({ model: answers() }), 'again', { session })).result?.status).toBe('completed')
      expect(inspect(session.messages).problem).toBeUndefined()
    }
  })
})

test.for(modes)('a hook may take the writes of its session off it (%s)', async (mode) => {
  const said = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })
  const wrapping: Middleware = {
    name: 'wrapping',
    before_run: async (ctx, next) => {
      const { append, replace } = ctx.session
      await append([said('first')])
      await replace([said('instead')])
      return next()
    },
  }
  const session = memorySession()
  const outcome = await execute(mode, new Agent({ model: answers(), middleware: [wrapping] }), 'go', { session })
  expectWhole(outcome, session.messages)
  expect(session.messages.slice(0, 2)).toEqual([said('instead'), said('go')])
})
