import { describe, expect, test } from 'vitest'
import { sseDecoder } from './sse.ts'
import type { SseEvent } from './sse.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const data = (events: readonly SseEvent[]): string[] => events.map((event) => event.data)

function decode(...pieces: readonly Uint8Array[]): SseEvent[] {
  const decoder = sseDecoder()
  return [...pieces.flatMap((piece) => decoder.push(piece)), ...decoder.end()]
}

const ends = { LF: '\n', CR: '\r', CRLF: '\r\n' }
const pairs = Object.entries(ends).flatMap(([first, a]) =>
  Object.entries(ends).map(([second, b]) => [`${first} ${second}`, a, b] as const),
)

describe('line ends', () => {
  // CR LF can only mean one line end, so it is no delimiter.
  test.for(pairs.filter(([name]) => name !== 'CR LF'))('%s ends an event at once, and leaves nothing behind', ([, a, b]) => {
    const decoder = sseDecoder()
    expect(data(decoder.push(bytes(`data: x${a}${b}`)))).toEqual(['x'])
    expect(data(decoder.push(bytes(`data: y${a}${b}`)))).toEqual(['y'])
    expect(decoder.end()).toEqual([])
  })

  test('CR LF is one line end, also where the two come apart', () => {
    const decoder = sseDecoder()
    expect(decoder.push(bytes('data: x\r'))).toEqual([])
    expect(decoder.push(bytes('\n'))).toEqual([])
    expect(data(decoder.push(bytes('data: y\r\n\r')))).toEqual(['x\ny'])
    expect(decoder.push(bytes('\n'))).toEqual([])
    expect(decoder.end()).toEqual([])
  })

  test('in any mixture and cut at any two places give the same events', () => {
    const stream = bytes('\uFEFF: hi\r\n\r\rdata: é\r\ndata:€\n\r\nevent: a\rdata: 😀\r\rid: 1\n\n:\rdata\ndata: z\n\r')
    const whole = decode(stream)
    expect(whole).toEqual([
      { event: 'message', data: 'é\n€' },
      { event: 'a', data: '😀' },
      { event: 'message', data: '\nz' },
    ])
    for (let first = 0; first <= stream.length; first++) {
      for (let second = first; second <= stream.length; second++) {
        const pieces = [stream.subarray(0, first), stream.subarray(first, second), stream.subarray(second)]
        expect(decode(...pieces), `cut at ${first} and ${second}`).toEqual(whole)
      }
    }
    expect(decode(...Array.from(stream, (byte) => Uint8Array.of(byte)))).toEqual(whole)
  })
})

describe('what is no event', () => {
  test.for([
    [': comment\n\n'],
    [':\n\n'],
    [':x\n\n'],
    ['id: 7\n\n'],
    ['event: ping\n\n'],
    ['data:\n\n'],
    ['data\n\n'],
    ['retry: 10\n\n'],
    ['\n\n\n'],
    ['Data: x\n\n'],
    [' data: x\n\n'],
    [''],
  ])('%j is dropped, before and after events', ([block]) => {
    expect(data(decode(bytes(`${block}id: 1\ndata: x\n\n${block}data: y\n\n`)))).toEqual(['x', 'y'])
  })

  test('an event name does not outlive its block', () => {
    expect(decode(bytes('event: a\n\ndata: x\n\n'))).toEqual([{ event: 'message', data: 'x' }])
  })
})

test('one space after the colon is dropped, further ones and other colons stay', () => {
  expect(data(decode(bytes('data:  a: b\n\ndata:c\n\n')))).toEqual([' a: b', 'c'])
})

test('a byte order mark is dropped at the beginning only', () => {
  expect(data(decode(bytes('\uFEFFdata: \uFEFFx\n\n')))).toEqual(['\uFEFFx'])
})

test('an event without its blank line comes with the end', () => {
  expect(data(decode(bytes('data: x')))).toEqual(['x'])
  expect(data(decode(bytes('data: x\r')))).toEqual(['x'])
  expect(data(decode(bytes('data: x\r\n')))).toEqual(['x'])
})

// In quadratic time it would not end in time.
test('a line of a megabyte is read in pieces of 64 bytes', () => {
  const decoder = sseDecoder()
  const piece = bytes('x'.repeat(64))
  decoder.push(bytes('data: '))
  for (let count = 0; count < 2 ** 14; count++) decoder.push(piece)
  expect(decoder.push(bytes('\n\n'))[0]?.data.length).toBe(2 ** 20)
})
