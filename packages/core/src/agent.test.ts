import { describe, expect, test } from 'vitest'
import { Agent, ConfigError, defineTool, memorySession } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { scripted } from './scripted.ts'
import { execute, modes } from './testing/kit.ts'

const tool = (name: string) => defineTool({ name, description: name, input: { type: 'object' }, execute: () => name })
const named = (name: string, log: string[]): Middleware => ({ name, before_run: (_, next) => (log.push(name), next()) })

describe('an agent', () => {
  test.for(modes)('is immutable: use() makes a new one, its layers further in (%s)', async (mode) => {
    const log: string[] = []
    const model = scripted(Array.from({ length: 3 }, () => ({ text: 'hi' })))
    const base = new Agent({ model, middleware: [named('a', log)] })
    const more = base.use(named('b', log))
    await execute(mode, base)
    await execute(mode, more, 'go', { middleware: [named('c', log)] })
    await execute(mode, more)
    expect(log).toEqual(['a', 'a', 'b', 'c', 'a', 'b'])
  })

  test.for(modes)('runs side by side without mixing anything (%s)', async (mode) => {
    const agent = new Agent({
      model: scripted(
        Array.from({ length: 20 }, () => async ({ messages }) => ({ text: JSON.stringify(messages.at(-1)?.content) })),
      ),
    })
    const outcomes = await Promise.all(Array.from({ length: 10 }, (_, i) => execute(mode, agent, `input ${i}`)))
    outcomes.forEach(({ result, events }, i) => {
      expect(result?.text).toContain(`input ${i}`)
      expect(result?.messages).toHaveLength(2)
      expect(new Set(events.map(({ runId }) => runId)).size).toBe(1)
    })
  })

  test.for(modes)('sends its instructions with each request and never stores them (%s)', async (mode) => {
    const model = scripted([{ toolCalls: [{ name: 'x' }] }, { text: 'hi' }])
    const session = memorySession()
    await execute(mode, new Agent({ model, instructions: 'Be kind.', tools: [tool('x')] }), 'go', { session })
    expect(model.calls.map(({ system }) => system)).toEqual(['Be kind.', 'Be kind.'])
    expect(JSON.stringify(session.messages)).not.toContain('Be kind.')
  })

  test.for(modes)('takes text, parts and whole messages as its input (%s)', async (mode) => {
    const model = scripted(Array.from({ length: 3 }, () => ({ text: 'hi' })))
    const part = { type: 'text', text: 'go' } as const
    for (const input of ['go', [part], { role: 'user', content: [part] }] as const)
      await execute(mode, new Agent({ model }), input)
    expect(model.calls.map(({ messages }) => messages)).toEqual(
      Array.from({ length: 3 }, () => [{ role: 'user', content: [part] }]),
    )
  })

  test.for(modes)('freezes a copy of what a run is given (%s)', async (mode) => {
    const seen: unknown[] = []
    const metadata = { user: { id: 1 } }
    const input = { role: 'user' as const, content: [{ type: 'text' as const, text: 'go' }] }
    const look: Middleware = {
      name: 'look',
      before_run: (ctx, next) => {
        metadata.user.id = 2
        input.content.push({ type: 'text', text: 'sneaked in' })
        seen.push(ctx.metadata, Object.isFrozen((ctx.metadata as typeof metadata).user), ctx.input.content.length)
        return next()
      },
    }
    const { result } = await execute(mode, new Agent({ model: scripted([{ text: 'hi' }]), middleware: [look] }), input, {
      metadata,
    })
    expect(seen).toEqual([{ user: { id: 1 } }, true, 1])
    expect(result?.messages[0]?.content).toHaveLength(1)
  })
})

describe('a wrong option', () => {
  const model = scripted([])
  test.for<[string, () => unknown, RegExp]>([
    ['no options', () => new Agent(undefined as never), /has no model/],
    ['no model', () => new Agent({ name: 'a' } as never), /agent 'a' has no model/],
    ['tools that are no list', () => new Agent({ model, tools: {} as never }), /tools must be a list/],
    ['a turn limit below 0', () => new Agent({ model, maxTurns: -1 }), /maxTurns is -1/],
    ['a turn limit that is no number', () => new Agent({ model, maxTurns: NaN }), /maxTurns is/],
    ['no tool at a time', () => new Agent({ model, toolConcurrency: 0 }), /toolConcurrency is 0/],
    ['two tools of one name', () => new Agent({ model, tools: [tool('x'), tool('x')] }), /two tools have the name 'x'/],
    [
      'two middlewares of one name',
      () => new Agent({ model, middleware: [{ name: 'm' }] }).use({ name: 'm' }),
      /two middlewares have the name 'm'/,
    ],
  ])('is refused where the agent is made: %s', ([, make, message]) => {
    expect(make).toThrow(ConfigError)
    expect(make).toThrow(message)
  })

  test.for<[string, object, RegExp]>([
    ['a middleware whose name is taken', { middleware: [{ name: 'm' }] }, /two middlewares have the name 'm'/],
    ['a turn limit below 0', { maxTurns: -1 }, /maxTurns is -1/],
    ['a turn limit that is no number', { maxTurns: 'many' }, /maxTurns/],
  ])('of a run is refused before anything starts: %s', async ([, options, message]) => {
    const agent = new Agent({ model, middleware: [{ name: 'm' }] })
    await expect(agent.run('go', options)).rejects.toThrow(message)
    await expect(agent.run('go', options)).rejects.toBeInstanceOf(ConfigError)
    expect(() => agent.stream('go', options)).toThrow(message)
  })

  test('as its input is refused before anything starts', async () => {
    for (const input of [
      undefined,
      null,
      42,
      { role: 'assistant', content: [] },
      { role: 'user' },
      { role: 'user', content: ['text'] },
      [{ type: 'text' }],
    ]) {
      await expect(new Agent({ model }).run(input as never)).rejects.toBeInstanceOf(ConfigError)
    }
  })
})
