import { expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import { StateStore, stateKey } from './state.ts'
import type { StateKey } from './state.ts'

const store = new StateStore()
const turns = stateKey('acme/turns', z.number().default(0))
const user = stateKey('acme/user', z.object({ name: z.string() }))

test('a key has the type of its schema, on the code side', () => {
  expectTypeOf(turns).toEqualTypeOf<StateKey<number>>()
  expectTypeOf(store.get(user)).toEqualTypeOf<{ name: string }>()
  const since = stateKey(
    'acme/since',
    z.codec(z.string(), z.date(), { decode: (s) => new Date(s), encode: (d) => d.toISOString() }),
  )
  expectTypeOf(store.get(since)).toEqualTypeOf<Date>()
})

test('any key fits a list of keys', () => {
  expectTypeOf([turns, user]).toExtend<readonly StateKey[]>()
})

test('a value of another type is refused', () => {
  expectTypeOf(store.set<number>)
    .parameter(1)
    .toEqualTypeOf<number>()
  // @ts-expect-error a string is no number
  store.set(turns, 'x')
  // @ts-expect-error the key decides the type, not what key and value have in common
  store.set(user, {} as { name?: string })
  // @ts-expect-error
  store.update(user, () => ({}) as { name?: string })
  // @ts-expect-error
  store.update(turns, (n) => `${n}`)
  // @ts-expect-error a reducer is synchronous
  store.update(turns, async (n) => n)
  // @ts-expect-error
  stateKey('acme/x', z.number(), { scope: 'process' })
})

test('a reducer gets and gives the type of its key', () => {
  expectTypeOf(store.update(user, ({ name }) => ({ name: name.trim() }))).toEqualTypeOf<{ name: string }>()
})
