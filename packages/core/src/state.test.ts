import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { ConfigError } from './errors.ts'
import { StateStore, stateKey } from './state.ts'

const turns = stateKey('acme/turns', z.number().default(0))
const spent = stateKey('acme/spent', z.number().default(0), { scope: 'tree' })

describe('a state key', () => {
  test('is per run unless it says otherwise', () => {
    expect([turns.scope, spent.scope]).toEqual(['run', 'tree'])
  })

  test('needs a name and a zod schema', () => {
    expect(() => stateKey('', z.number())).toThrow(ConfigError)
    expect(() => stateKey('acme/x', {} as never)).toThrow(/'acme\/x'/)
  })
})

describe('get', () => {
  test('gives what was set', () => {
    const store = new StateStore()
    store.set(turns, 3)
    expect(store.get(turns)).toBe(3)
  })

  test('gives the default before that, made once', () => {
    const list = stateKey(
      'acme/list',
      z.array(z.string()).default(() => []),
    )
    const store = new StateStore()
    expect(store.get(turns)).toBe(0)
    expect(store.get(list)).toBe(store.get(list))
  })

  test('fails for a key without value and default, and says what to do', () => {
    const key = stateKey('acme/user', z.string())
    expect(() => new StateStore().get(key)).toThrow(/'acme\/user' has no value yet.*default/)
  })

  test('gives undefined for an optional key', () => {
    expect(new StateStore().get(stateKey('acme/note', z.string().optional()))).toBeUndefined()
  })

  test('does not parse a value again', () => {
    let parsed = 0
    const key = stateKey(
      'acme/counted',
      z.number().refine(() => ++parsed > 0),
    )
    const store = new StateStore()
    store.set(key, 1)
    const before = parsed
    store.get(key)
    store.get(key)
    expect(parsed).toBe(before)
  })
})

describe('set', () => {
  test('refuses a value that the schema does not take, and keeps the old one', () => {
    const store = new StateStore()
    store.set(turns, 1)
    expect(() => store.set(turns, 'many' as never)).toThrow(
      "state 'acme/turns' does not take this value: expected number, received string",
    )
    expect(store.get(turns)).toBe(1)
  })

  test('freezes the value, all the way down', () => {
    const key = stateKey('acme/list', z.array(z.object({ n: z.number() })))
    const store = new StateStore()
    store.set(key, [{ n: 1 }])
    expect(Object.isFrozen(store.get(key)[0])).toBe(true)
  })

  test('takes the code side of a codec', () => {
    const date = z.codec(z.iso.datetime(), z.date(), { decode: (text) => new Date(text), encode: (value) => value.toISOString() })
    const key = stateKey('acme/since', date.default(new Date(0)))
    const store = new StateStore()
    expect(store.get(key)).toEqual(new Date(0))
    store.set(key, new Date(5))
    expect(store.get(key)).toEqual(new Date(5))
    expect(() => store.set(key, '1970-01-01T00:00:00Z' as never)).toThrow(ConfigError)
  })

  test.for([
    ['a one-way transform', z.string().transform(Number) as z.ZodType<number>],
    ['an asynchronous check', z.number().refine(async () => true)],
  ] as const)('refuses a schema with %s', ([, schema]) => {
    expect(() => new StateStore().set(stateKey('acme/x', schema), 1)).toThrow(/'acme\/x'/)
  })

  test('refuses a key of the whole tree and names update', () => {
    expect(() => new StateStore().set(spent, 1)).toThrow(/'acme\/spent'.*update\(key, reducer\)/)
  })
})

describe('update', () => {
  test('starts from the default and gives back the new value', () => {
    const store = new StateStore()
    expect(store.update(turns, (n) => n + 1)).toBe(1)
    expect(store.update(turns, (n) => n + 1)).toBe(2)
    expect(store.get(turns)).toBe(2)
  })

  test('validates what the reducer returns', () => {
    const store = new StateStore()
    expect(() => store.update(spent, () => 'x' as never)).toThrow(ConfigError)
    expect(store.get(spent)).toBe(0)
  })

  test('refuses a reducer that returns a promise, also one that rejects', async () => {
    const store = new StateStore()
    expect(() => store.update(spent, (async () => Promise.reject(new Error('late'))) as never)).toThrow(
      /'acme\/spent' returned a promise/,
    )
    await new Promise((resolve) => setTimeout(resolve))
    expect(store.get(spent)).toBe(0)
  })
})

describe('a tree of runs', () => {
  test('shares tree keys on every level and keeps run keys apart', () => {
    const top = new StateStore()
    const child = new StateStore(top)
    const grandchild = new StateStore(child)
    grandchild.update(spent, (n) => n + 5)
    child.update(spent, (n) => n + 1)
    child.set(turns, 9)
    expect([top.get(spent), child.get(spent), grandchild.get(spent)]).toEqual([6, 6, 6])
    expect([top.get(turns), child.get(turns), grandchild.get(turns)]).toEqual([0, 9, 0])
  })

  test('shares them among siblings that start before anyone reads', () => {
    const top = new StateStore()
    const siblings = [new StateStore(top), new StateStore(top)] as const
    for (const store of siblings) store.update(spent, (n) => n + 1)
    expect(top.get(spent)).toBe(2)
  })
})

describe('two different keys with one name', () => {
  test.for(['run', 'tree'] as const)('are refused by name in one store (%s)', (scope) => {
    const store = new StateStore()
    store.get(turns)
    expect(() => store.get(stateKey('acme/turns', z.number().default(0), { scope }))).toThrow(
      /two state keys are named 'acme\/turns'/,
    )
  })

  test('are refused across a tree when both are shared', () => {
    const top = new StateStore()
    top.get(spent)
    const other = stateKey('acme/spent', z.number().default(0), { scope: 'tree' })
    expect(() => new StateStore(top).get(other)).toThrow(ConfigError)
  })
})
