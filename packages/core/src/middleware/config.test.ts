import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, ConfigError, defineMiddleware, deny, forTools, RunController, stack, stateKey, when } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { points } from '../hooks.ts'
import { modes } from '../testing/kit.ts'
import { broken, look, silent } from '../testing/stage.ts'

const key = stateKey('acme/turns', z.number().default(0))
const other = stateKey('acme/turns', z.string().default(''))
const next = (_ctx: unknown, go: () => Promise<never>): Promise<never> => go()

class Auditor {
  name = 'auditor'
  before_tool = next
}

/** What is wrong with a list of middleware, and the words that its error must contain. */
const mistakes: Record<string, readonly [list: () => unknown, ...words: (string | RegExp)[]]> = {
  'an unknown hook': [() => [{ name: 'audit', before_tol: next }], 'audit', 'before_tol', 'before_tool'],
  'a hook of another framework': [() => [{ name: 'audit', on_tool_error: next }], 'audit', 'on_tool_error', /on_/],
  'a hook in camel case': [() => [{ name: 'audit', beforeTool: next }], 'audit', 'beforeTool', 'before_tool'],
  'a hook with a typo at its start': [() => [{ name: 'audit', befor_tool: next }], 'audit', 'befor_tool', 'before_tool'],
  'a hook with a dash': [() => [{ name: 'audit', 'after-run': next }], 'audit', 'after-run', 'after_run'],
  'a sanitizer in another spelling': [
    () => [{ name: 'audit', sanitise: (text: string) => text }],
    'audit',
    'sanitise',
    'sanitize',
  ],
  'a hook that is no function': [() => [{ name: 'audit', before_tool: 'deny' }], 'audit', 'before_tool', 'function'],
  'a hook that is null': [() => [{ name: 'audit', before_tool: null }], 'audit', 'before_tool', 'null'],
  'a sanitizer that is no function': [() => [{ name: 'audit', sanitize: {} }], 'audit', 'sanitize', 'function'],
  'a class instance': [() => [new Auditor()], 'auditor', 'class instance', 'plain object'],
  'no name': [() => [{ before_tool: next }], 'name'],
  'an empty name': [() => [{ name: '', before_tool: next }], 'name'],
  'a name that is no string': [() => [{ name: 5 }], 'name'],
  'a wrong policy': [() => [{ name: 'audit', errors: 'swallow' }], 'audit', 'swallow', "'log'"],
  'null in the list': [() => [null], 'object', 'null'],
  'a function in the list': [() => [next], 'object', 'function'],
  'a hole in the list': [() => [undefined], 'object', 'undefined'],
  'a list in the list': [() => [[{ name: 'audit' }]], 'list'],
  'requires that is no list': [() => [{ name: 'audit', requires: key }], 'audit', 'requires', 'list'],
  'provides that is no list': [() => [{ name: 'audit', provides: key }], 'audit', 'provides', 'list'],
  'before that is no list': [() => [{ name: 'audit', before: 'cache' }], 'audit', 'before', 'list'],
  'after that is no list': [() => [{ name: 'audit', after: 'cache' }], 'audit', 'after', 'list'],
  'tools that are no list': [() => [{ name: 'audit', tools: look }], 'audit', 'tools', 'list'],
  'a tool that is none': [() => [{ name: 'audit', tools: [{ name: 'x', run: next }] }], 'audit', 'defineTool'],
  'a newer contract': [() => [{ name: 'audit', contract: 2 }], 'audit', '2', '@koagent/core'],
  'two of one name': [() => [{ name: 'audit' }, { name: 'b' }, { name: 'audit' }], 'audit'],
  'two of one name, one in a stack': [() => [{ name: 'audit' }, stack('s', [{ name: 'audit' }])], 'audit'],
  'two of one name, both wrapped': [() => [when(() => true, { name: 'audit' }), forTools('x', { name: 'audit' })], 'audit'],
  'one twice': [() => ((m) => [m, m])({ name: 'audit' }), 'audit'],
  'state that nobody provides': [() => [{ name: 'budget', requires: [key] }], 'budget', 'acme/turns'],
  'state that is provided further in': [
    () => [
      { name: 'budget', requires: [key] },
      { name: 'usage', provides: [key] },
    ],
    'budget',
    'acme/turns',
    'further out',
  ],
  'state of the same name under another key': [
    () => [
      { name: 'usage', provides: [other] },
      { name: 'budget', requires: [key] },
    ],
    'budget',
    'acme/turns',
  ],
  'two keys of one name': [
    () => [
      { name: 'usage', provides: [other] },
      { name: 'spy', provides: [key] },
    ],
    'spy',
    'acme/turns',
  ],
  'before, violated': [() => [{ name: 'cache' }, { name: 'redact', before: ['cache'] }], 'redact', 'cache', 'outside'],
  'after, violated': [() => [{ name: 'redact', after: ['cache'] }, { name: 'cache' }], 'redact', 'cache', 'inside'],
  'before, violated from a stack': [
    () => [{ name: 'cache' }, stack('s', [when(() => false, { name: 'redact', before: ['cache'] })])],
    'redact',
    'cache',
  ],
  'two tools of one name': [() => [{ name: 'audit', tools: [look] }], 'look', 'audit', 'agent'],
  'two tools of one name, of two middlewares': [
    () => [
      { name: 'a', tools: [{ ...look, name: 'extra' }] },
      { name: 'b', tools: [{ ...look, name: 'extra' }] },
    ],
    'extra',
    "'a'",
    "'b'",
  ],
}

function configError(make: () => unknown): ConfigError {
  try {
    make()
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return error as ConfigError
  }
  throw new Error('nothing was thrown')
}

/** What an error's sentence should say and does not. */
function unsaid({ message }: Error, words: readonly (string | RegExp)[]): unknown[] {
  return words.filter((word) => (typeof word === 'string' ? !message.includes(word) : !word.test(message)))
}

const base = (): ConstructorParameters<typeof Agent>[0] => ({
  model: scripted([{ text: 'hi' }]),
  tools: [look, broken],
  logger: silent,
})

describe.for(Object.entries(mistakes))('%s', ([, [list, ...words]]) => {
  test('fails when an agent is made, by its options or by use()', () => {
    expect(
      unsaid(
        configError(() => new Agent({ ...base(), middleware: list() as Middleware[] })),
        words,
      ),
    ).toEqual([])
    expect(
      unsaid(
        configError(() => new Agent(base()).use(...(list() as Middleware[]))),
        words,
      ),
    ).toEqual([])
  })

  test.for(modes)('fails at run level too, before anything runs (%s)', async (mode) => {
    const model = scripted([{ text: 'hi' }])
    let hooked = 0
    const agent = new Agent({ ...base(), model }).use({ name: 'counter', on_event: (_ctx, go) => (hooked++, go()) })
    const options = { middleware: list() as Middleware[] }
    const error =
      mode === 'run' ? await agent.run('go', options).catch((e: unknown) => e) : configError(() => agent.stream('go', options))
    expect(error).toBeInstanceOf(ConfigError)
    expect(unsaid(error as Error, words)).toEqual([])
    expect([hooked, model.calls.length]).toEqual([0, 0])
  })
})

describe('mistakes in one middleware', () => {
  const single = Object.entries(mistakes).filter(
    ([name]) => /hook|sanitizer|name|policy|class|no list|contract/.test(name) && !/two|same/.test(name),
  )

  test.for(single)('%s: is refused by defineMiddleware, stack, when and forTools at once', ([, [list, ...words]]) => {
    const [middleware] = list() as Middleware[]
    for (const make of [
      () => defineMiddleware(middleware!),
      () => stack('s', [middleware!]),
      () => when(() => true, middleware!),
      () => forTools('look', middleware!),
    ])
      expect(unsaid(configError(make), words)).toEqual([])
  })

  test.for([null, undefined, 5, next])('%s is no middleware to a wrapper', (value) => {
    for (const make of [
      () => defineMiddleware(value as never),
      () => stack('s', [value as never]),
      () => when(() => true, value as never),
      () => forTools('look', value as never),
    ])
      expect(unsaid(configError(make), ['object'])).toEqual([])
  })

  test('a wrapper says what it takes', () => {
    expect(
      unsaid(
        configError(() => stack('pack', { name: 'a' } as never)),
        ['pack', 'list'],
      ),
    ).toEqual([])
    expect(
      unsaid(
        configError(() => when(true as never, { name: 'audit' })),
        ['audit', 'function'],
      ),
    ).toEqual([])
    for (const filter of [undefined, 5, null, {}])
      expect(
        unsaid(
          configError(() => forTools(filter as never, { name: 'audit' })),
          ['audit', 'RegExp'],
        ),
      ).toEqual([])
  })
})

describe('an agent', () => {
  const wrong: readonly (readonly [name: string, options: object, ...words: string[]])[] = [
    ['no model', { model: undefined }, 'model'],
    ['a model that is a name', { model: 'gpt' }, 'model'],
    ['tools that are no list', { tools: { look } }, 'tools', 'list'],
    ['middleware that is no list', { middleware: { name: 'a' } }, 'middleware', 'list'],
    ['two tools of one name', { tools: [look, look] }, 'look'],
    ['a tool that is none', { tools: [{ name: 'look' }] }, 'look', 'defineTool'],
    ['null among the tools', { tools: [null] }, 'defineTool'],
    ['a turn limit that is none', { maxTurns: Number.NaN }, 'maxTurns'],
    ['a concurrency of 0', { toolConcurrency: 0 }, 'toolConcurrency'],
  ]
  test.for(wrong)('with %s is refused', ([, options, ...words]) => {
    expect(
      unsaid(
        configError(() => new Agent({ ...base(), ...options } as never)),
        words,
      ),
    ).toEqual([])
  })

  const wrongRuns: readonly (readonly [name: string, options: () => object, ...words: string[]])[] = [
    ['middleware that is no list', () => ({ middleware: { name: 'a' } }), 'middleware', 'list'],
    ['the name of one of the agent’s layers', () => ({ middleware: [{ name: 'guard' }] }), 'guard'],
    ['a tool of the agent’s', () => ({ middleware: [{ name: 'x', tools: [look] }] }), 'look', "'x'"],
    ['a layer that wants to stand outside', () => ({ middleware: [{ name: 'x', before: ['guard'] }] }), "'x'", 'guard'],
    [
      'a used controller',
      () => {
        const controller = new RunController()
        void new Agent(base()).run('go', { controller })
        return { controller }
      },
      'RunController',
    ],
  ]
  test.for(wrongRuns.flatMap((row) => modes.map((mode) => [row[0], mode, row] as const)))(
    'refuses a run with %s (%s)',
    async ([, mode, row]) => {
      const [, make, ...words] = row
      const agent = new Agent(base()).use({ name: 'guard', on_permission: () => deny('no') })
      const options = make()
      const error =
        mode === 'run' ? await agent.run('go', options).catch((e: unknown) => e) : configError(() => agent.stream('go', options))
      expect(error).toBeInstanceOf(ConfigError)
      expect(unsaid(error as Error, words)).toEqual([])
    },
  )

  test('is not changed by use(): each has its own layers', () => {
    const agent = new Agent(base())
    agent.use({ name: 'a' })
    expect(() => agent.use({ name: 'a' })).not.toThrow()
    expect(() => agent.use({ name: 'a' }).use({ name: 'a' })).toThrow(ConfigError)
  })
})

describe('what is fine', () => {
  test('order that is kept, order about absentees, state provided further out, extra fields, undefined hooks', () => {
    expect(() =>
      new Agent(base()).use(
        {
          name: 'outer',
          provides: [key],
          before: ['inner', 'absent'],
          after: ['nobody'],
          before_tool: undefined,
        } as object as Middleware,
        stack('s', [{ name: 'inner', requires: [key], provides: [key], after: ['outer'] }]),
        { name: '@acme/x', openTimers: 5, describe: () => 'x', report: next } as Middleware,
        Object.assign(Object.create(null) as object, { name: 'bare' }) as Middleware,
        { name: 'stamped', contract: 1 },
      ),
    ).not.toThrow()
  })

  test('defineMiddleware stamps the contract, freezes, and keeps what it is given', () => {
    const hooks = Object.fromEntries(points.map((point) => [point, next]))
    const made = defineMiddleware({ name: 'all', ...hooks })
    expect(made).toEqual({ name: 'all', contract: 1, ...hooks })
    expect(Object.isFrozen(made)).toBe(true)
  })
})
