import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json } from '../json.ts'
import { toJson } from './serialise.ts'

class Point {
  x = 1
  #hidden = 2
  get sum(): number {
    return this.x + this.#hidden
  }
}

function failing(): never {
  throw new Error('gone')
}

const cyclic: Record<string, unknown> = { name: 'a' }
cyclic['self'] = cyclic
const loop: unknown[] = []
loop.push([loop])
const shared = { n: 1 }
const revoked = Proxy.revocable({}, {})
revoked.revoke()

describe('toJson', () => {
  test.for<[what: string, value: unknown, json: Json]>([
    ['BigInt', { count: 987654321987654321n, list: [7n] }, { count: '987654321987654321', list: ['7'] }],
    ['NaN and Infinity', [NaN, Infinity, -Infinity], ['NaN', 'Infinity', '-Infinity']],
    ['undefined fields', [{ id: 1, started: undefined }], [{ id: 1 }]],
    ['undefined in a list', [undefined, 1], [null, 1]],
    ['undefined alone', undefined, null],
    ['functions and symbols', { f: failing, s: Symbol('s'), [Symbol('key')]: 1, list: [failing] }, { list: [null] }],
    ['a hole in a list', Array.from({ length: 2 }), [null, null]],
    ['a Date', { at: new Date(0) }, { at: '1970-01-01T00:00:00.000Z' }],
    ['an invalid Date', new Date(NaN), null],
    ['a URL', new URL('https://example.com/a'), 'https://example.com/a'],
    ['an Error', { error: new TypeError('bad') }, { error: { name: 'TypeError', message: 'bad' } }],
    ['a Map with string keys', new Map([['a', 1n]]), { a: '1' }],
    ['a Map with other keys', new Map<unknown, unknown>([[1, { a: undefined }]]), { 1: {} }],
    ['a Set', new Set(['a', new Set([1])]), ['a', [1]]],
    ['bytes', new Uint8Array([104, 105]), 'aGk='],
    ['a part of a buffer', new Uint8Array([0, 104, 105, 0]).subarray(1, 3), 'aGk='],
    ['an ArrayBuffer', new Uint8Array([104, 105]).buffer, 'aGk='],
    ['a Buffer', { data: Buffer.from('hi') }, { data: 'aGk=' }],
    ['many bytes', new Uint8Array(40_000), '[40000 bytes]'],
    ['a class instance', new Point(), { x: 1 }],
    ['an object without a prototype', Object.assign(Object.create(null) as object, { a: 1 }), { a: 1 }],
    ['a cycle', cyclic, { name: 'a', self: '[circular]' }],
    ['a cycle of lists', loop, [['[circular]']]],
    ['one object in two places', [shared, shared], [{ n: 1 }, { n: 1 }]],
    ['toJSON', { a: { toJSON: () => ({ b: 1n }) } }, { a: { b: '1' } }],
    ['toJSON that returns its own object', { a: { n: 1, toJSON: selfish } }, { a: { n: 1 } }],
    ['toJSON that throws', { a: { toJSON: failing }, b: 1 }, '[unreadable: gone]'],
    ['a getter that throws', Object.defineProperty({ b: 1 }, 'a', { enumerable: true, get: failing }), '[unreadable: gone]'],
    [
      'a throw that is unreadable itself',
      {
        toJSON: () => {
          throw revoked.proxy
        },
      },
      '[unreadable: something unreadable]',
    ],
    ['a revoked proxy', [revoked.proxy], expect.stringContaining('[unreadable: Cannot perform') as never],
    ['a field named __proto__', JSON.parse('{"__proto__":{"admin":true},"a":1}'), { a: 1 }],
  ])('%s', ([, value, json]) => {
    expect(toJson(value)).toEqual(json)
    expect(JSON.parse(JSON.stringify(toJson(value)))).toStrictEqual(toJson(value))
  })

  test("gives nothing a prototype of the value's choice", () => {
    expect(toJson(JSON.parse('{"__proto__":{"admin":true}}'))).not.toHaveProperty('admin')
  })

  test('keeps JSON as it is, in a copy', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value).replaceAll('"__proto__"', '"proto"'))
        const json = toJson(plain)
        expect(json).toStrictEqual(plain)
        if (typeof plain === 'object' && plain !== null) expect(json).not.toBe(plain)
      }),
    )
  })

  test('never throws, and what comes out survives JSON', () => {
    const anything = fc.anything({
      withBigInt: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withNullPrototype: true,
      withSparseArray: true,
      withBoxedValues: true,
    })
    fc.assert(
      fc.property(anything, (value) => {
        const json = toJson(value)
        expect(JSON.parse(JSON.stringify(json))).toStrictEqual(json)
      }),
    )
  })

  test('has no negative zero, which JSON would lose', () => {
    expect(Object.is(toJson(-0), 0)).toBe(true)
  })

  test('caps nesting instead of overflowing the stack', () => {
    let value: unknown = 'core'
    for (let i = 0; i < 200_000; i++) value = i % 2 ? [value] : { value }
    const text = JSON.stringify(toJson(value))
    expect(text).toContain('[nested too deeply]')
    expect(text.length).toBeLessThan(5000)
  })

  test('a toJSON that makes a new object for ever comes to an end', () => {
    const endless = (): object => ({ toJSON: endless })
    expect(toJson(endless())).toBe('[nested too deeply]')
  })

  test('a value that doubles on each level comes to an end', () => {
    let value: unknown = 1
    for (let i = 0; i < 60; i++) value = [value, value]
    expect(toJson(value)).toBe('[unreadable: more than 1000000 values]')
  })

  test('a list with a huge length comes to an end', () => {
    const list: unknown[] = []
    list.length = 2 ** 32 - 1
    expect(toJson(list)).toMatch(/^\[unreadable: /)
  })
})

function selfish(this: unknown): unknown {
  return this
}
