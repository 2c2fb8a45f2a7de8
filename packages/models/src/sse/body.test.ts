import { property, array, assert, constantFrom, integer, nat, oneof, string, uint8Array } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bodyDecoder } from './body.ts'
import { sseDecoder } from './sse.ts'
import type { SseDecoder, SseEvent } from './sse.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

function decode(decoder: SseDecoder, pieces: readonly Uint8Array[]): SseEvent[] {
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()]
}

/** The same bytes, cut at these places. */
function cut(all: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = [0, ...places.map((place) => place % (all.length + 1)).toSorted((a, b) => a - b), all.length]
  return at.slice(1).map((end, index) => all.subarray(at[index], end))
}

const data = (text: string): string[] => decode(bodyDecoder(), [bytes(text)]).map((event) => event.data)

describe('a body is', () => {
  test('an event stream, after a mark and blank lines too', () => {
    for (const before of ['', '\uFEFF', '\r\n\n', ' \n']) expect(data(`${before}data: {"a":1}\n\n`)).toEqual(['{"a":1}'])
  })

  test('JSON line by line, each line at once', () => {
    const decoder = bodyDecoder()
    expect(decoder.push(bytes('\uFEFF\n{"a":1}\n{"b":'))).toEqual([{ event: 'message', data: '{"a":1}' }])
    expect(decoder.push(bytes('2}\r\n\ndata: {"c":3}\n'))).toEqual([
      { event: 'message', data: '{"b":2}' },
      { event: 'message', data: 'data: {"c":3}' },
    ])
    expect(decoder.push(bytes('[DONE]'))).toEqual([])
    expect(decoder.end()).toEqual([{ event: 'message', data: '[DONE]' }])
  })

  test('one document, also where a line of it looks like one', () => {
    for (const text of ['{\n  "a": [\n{}\n],\n"b": 1 }', '{"a": {}\n}', '[\n{"a":1}\n]']) {
      expect(JSON.parse(data(`\n${text}`).join('?'))).toEqual(JSON.parse(text))
    }
  })

  test('nothing, where there is nothing', () => {
    for (const nothing of ['', '\n', '\uFEFF \r\n']) expect(data(nothing)).toEqual([])
  })
})

const line = oneof(
  constantFrom(
    'data: {"a":1}',
    'data:',
    'data',
    ': ping',
    'event: error',
    'id: 1',
    'data:  é€😀',
    '{"a":"é"}',
    '{',
    '}',
    '[DONE]',
    '\uFEFF',
  ),
  string({ unit: 'binary', maxLength: 8 }),
)
const lines = array(oneof(line, constantFrom('\n', '\r', '\r\n', '\n\n', '\r\r')), { maxLength: 30 })

describe.for([
  ['an event stream', sseDecoder],
  ['any body', bodyDecoder],
] as const)('%s gives the same events', ([, decoder]) => {
  test('wherever it is cut', () => {
    assert(
      property(lines, array(nat(), { maxLength: 6 }), (texts, places) => {
        const all = bytes(texts.join(''))
        const whole = decode(decoder(), [all])
        expect(decode(decoder(), cut(all, places))).toEqual(whole)
        expect(
          decode(
            decoder(),
            Array.from(all, (byte) => Uint8Array.of(byte)),
          ),
        ).toEqual(whole)
      }),
      { numRuns: 500 },
    )
  })

  test('wherever it is cut, whatever the bytes', () => {
    const few = array(constantFrom(0x0a, 0x0d, 0x20, 0x3a, 0x7b, 0x7d, 0x64, 0xef, 0xbb, 0xbf, 0xe2, 0x82, 0xac, 0xff))
    const any = oneof(
      uint8Array({ maxLength: 60 }),
      few.map((list) => Uint8Array.from(list)),
    )
    assert(
      property(any, array(integer({ min: 0, max: 60 }), { maxLength: 6 }), (all, places) => {
        expect(decode(decoder(), cut(all, places))).toEqual(decode(decoder(), [all]))
      }),
      { numRuns: 500 },
    )
  })
})

// In quadratic time it would not end in time.
test('a line of a megabyte is read in small pieces', () => {
  const decoder = bodyDecoder()
  decoder.push(bytes('{"a":"'))
  const piece = bytes('x'.repeat(64))
  for (let count = 0; count < 2 ** 14; count++) decoder.push(piece)
  expect(decoder.push(bytes('"}\n'))[0]?.data.length).toBe(2 ** 20 + 8)
})
