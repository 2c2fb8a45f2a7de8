import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { copyJson, deepFreeze, freezeList, frozenCopy, isDeepFrozen, sameJson } from './freeze.ts'
import type { Json } from './json.ts'

class Money {
  amount = 1
}

/** Every plain object and array that can be reached. */
function reach(value: unknown, seen: Set<object> = new Set()): Set<object> {
  if (typeof value !== 'object' || value === null || seen.has(value)) return seen
  seen.add(value)
  for (const child of Object.values(value)) reach(child, seen)
  return seen
}

const anyJson = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>

describe('deepFreeze', () => {
  test('freezes everything plain that can be reached, and gives back the same object', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        expect(deepFreeze(value)).toBe(value)
        for (const node of reach(value)) expect(Object.isFrozen(node)).toBe(true)
      }),
    )
  })

  test('leaves class instances, functions, typed arrays and Maps alone', () => {
    const bytes = new Uint8Array(2)
    const value = deepFreeze({
      money: new Money(),
      bytes,
      map: new Map<string, object>(),
      call: Object.assign(() => 0, { tag: {} }),
    })
    value.money.amount = 2
    bytes[0] = 1
    expect([value.money.amount, Object.isFrozen(value.map), Object.isFrozen(value.call.tag)]).toEqual([2, false, false])
  })

  test('is safe for cycles', () => {
    const value: Record<string, unknown> = { list: [] }
    value['self'] = value
    ;(value['list'] as unknown[]).push(value)
    expect(deepFreeze(value)).toBe(value)
    expect(Object.isFrozen(value['list'])).toBe(true)
  })

  test('is safe for a cycle that someone froze half', () => {
    const inner: Record<string, unknown> = { open: { deep: {} } }
    const value = Object.freeze({ inner: Object.freeze(Object.assign(inner, { again: inner })) })
    deepFreeze(value)
    expect(Object.isFrozen((inner['open'] as { deep: object }).deep)).toBe(true)
  })

  test('goes through what is frozen only outside', () => {
    const value = Object.freeze({ list: Object.freeze([{ deep: {} }]) })
    deepFreeze(value)
    expect(Object.isFrozen(value.list[0]?.deep)).toBe(true)
  })

  test('does not walk a frozen history again, neither whole nor as part of a longer one', () => {
    let reads = 0
    const message = Object.defineProperty({}, 'content', { enumerable: true, get: () => ++reads })
    const history = deepFreeze([message])
    deepFreeze(history)
    expect(reads).toBe(1)
    const known = deepFreeze(message)
    deepFreeze([known, {}])
    expect(reads).toBe(2)
  })

  test('freezes a value that is nested very deeply', () => {
    let value: { child?: object } = {}
    const last = value
    for (let i = 0; i < 100_000; i++) value = { child: value }
    deepFreeze(value)
    expect(Object.isFrozen(last)).toBe(true)
  })

  test('takes objects without a prototype for plain', () => {
    const deep = {}
    deepFreeze({ bare: Object.assign(Object.create(null), { deep }) })
    expect(Object.isFrozen(deep)).toBe(true)
  })
})

describe('frozenCopy', () => {
  test('is equal, frozen and shares no plain object with the original, which stays as it was', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const copy = frozenCopy(value)
        expect(copy).toEqual(value)
        const originals = reach(value)
        for (const node of reach(copy)) {
          expect(Object.isFrozen(node)).toBe(true)
          expect(originals.has(node)).toBe(false)
        }
        for (const node of originals) expect(Object.isFrozen(node)).toBe(false)
      }),
    )
  })

  test('shares class instances', () => {
    const money = new Money()
    const copy = frozenCopy({ money })
    expect(copy.money).toBe(money)
    expect(Object.isFrozen(money)).toBe(false)
  })

  test('keeps the shape of cycles', () => {
    const value: { self?: unknown } = {}
    value.self = value
    const copy = frozenCopy(value)
    expect(copy).not.toBe(value)
    expect(copy.self).toBe(copy)
  })

  test('shares what is deeply frozen already', () => {
    const message = deepFreeze({ content: [{}] })
    expect(frozenCopy(message)).toBe(message)
    expect(frozenCopy([message])[0]).toBe(message)
  })
})

test('a list of frozen members is frozen without looking at them', () => {
  const list = freezeList([deepFreeze({})])
  expect(Object.isFrozen(list)).toBe(true)
  expect(isDeepFrozen(list)).toBe(true)
  expect(isDeepFrozen([])).toBe(false)
})

describe('copyJson', () => {
  test('is equal and shares nothing', () => {
    fc.assert(
      fc.property(anyJson, (value) => {
        const copy = copyJson(frozenCopy(value))
        expect(copy).toEqual(value)
        for (const node of reach(copy)) expect(Object.isFrozen(node)).toBe(false)
      }),
    )
  })

  test('leaves absent fields out', () => {
    expect(Object.keys(copyJson({ a: undefined, b: 1 }) as object)).toEqual(['b'])
  })

  test('keeps a field named __proto__ a field', () => {
    const copy = copyJson(JSON.parse('{"__proto__":{"admin":true}}') as Json) as { admin?: boolean }
    expect(JSON.stringify(copy)).toBe('{"__proto__":{"admin":true}}')
    expect(copy.admin).toBeUndefined()
  })
})

describe('sameJson', () => {
  test('compares by content', () => {
    fc.assert(fc.property(anyJson, (value) => sameJson(value, copyJson(value))))
    expect(sameJson({ a: [1] }, { a: [2] })).toBe(false)
  })

  test('tells keys in another order apart', () => {
    expect(sameJson({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(false)
  })

  test('takes an absent field and undefined for the same', () => {
    expect(sameJson({ a: undefined }, {})).toBe(true)
  })
})
