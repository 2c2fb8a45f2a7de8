import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isDeepFrozen } from '../freeze.ts'
import { textOf } from '../message.ts'
import type { ContentPart, ToolResult } from '../message.ts'
import { capResult, errorResult, isToolResult, toResult } from './serialise.ts'

const text = (value: string): ContentPart => ({ type: 'text', text: value })
const image: ContentPart = { type: 'image', mediaType: 'image/png', data: 'aGk=' }

describe('toResult', () => {
  test.for<[what: string, value: unknown, result: ToolResult]>([
    ['a string', 'hello', { content: [text('hello')], isError: false }],
    ['an empty string', '', { content: [text('(no output)')], isError: false }],
    ['undefined', undefined, { content: [text('(no output)')], isError: false }],
    ['null', null, { content: [text('null')], isError: false, value: null }],
    ['a number', 42, { content: [text('42')], isError: false, value: 42 }],
    ['a BigInt', 42n, { content: [text('42')], isError: false }],
    ['an object', { count: 3n, at: undefined }, { content: [text('{"count":"3"}')], isError: false, value: { count: '3' } }],
    ['a list', [1, undefined], { content: [text('[1,null]')], isError: false, value: [1, null] }],
    ['an empty list', [], { content: [text('[]')], isError: false, value: [] }],
    ['a result', { content: [text('a'), image], isError: true }, { content: [text('a'), image], isError: true }],
    [
      'a result with a value',
      { content: [text('a')], isError: false, value: { n: 1n } },
      { content: [text('a')], isError: false, value: { n: '1' } },
    ],
    ['an empty result', { content: [], isError: true }, { content: [text('(no output)')], isError: true }],
    ['empty text among parts', [text(''), image], { content: [image], isError: false }],
    ['nothing but empty text', { content: [text('')], isError: true }, { content: [text('(no output)')], isError: true }],
    ['no bytes', new Uint8Array(), { content: [text('(no output)')], isError: false }],
    ['content parts', [text('a'), image], { content: [text('a'), image], isError: false }],
  ])('%s', ([, value, result]) => {
    expect(toResult(value)).toEqual(result)
  })

  test.for<[what: string, value: unknown]>([
    ['an object that has content among other fields', { title: 'post', content: [text('a')] }],
    ['an object whose content is no list of parts', { content: [text('a'), 'b'] }],
    ['an object with an empty content and nothing else', { content: [] }],
    ['an object with content and no error flag', { content: [text('a')] }],
    ['a list of files that are no content parts', [{ type: 'file', name: 'a.txt' }]],
    ['parts among other things', [text('a'), 1]],
  ])('takes %s for data', ([, value]) => {
    expect(toResult(value)).toEqual({ content: [text(JSON.stringify(value))], isError: false, value })
  })

  test('never throws; what comes out is a frozen result that survives JSON and passes a second time as it is', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withMap: true, withSet: true, withTypedArray: true }), (value) => {
        const result = toResult(value)
        expect(isToolResult(result)).toBe(true)
        expect(JSON.parse(JSON.stringify(result))).toStrictEqual(result)
        expect(
          Object.isFrozen(result) && Object.isFrozen(result.content) && result.content.every((part) => Object.isFrozen(part)),
        ).toBe(true)
        expect(toResult(result)).toBe(result)
        expect(textOf(result)).not.toBe('')
      }),
    )
  })

  test('shares nothing with what the tool returned', () => {
    const value = { list: [1] }
    const result = toResult(value)
    value.list.push(2)
    expect(result.value).toEqual({ list: [1] })
    expect(Object.isFrozen((result.value as typeof value).list)).toBe(true)
    expect(isDeepFrozen(value)).toBe(false)
  })
})

test('an error result carries its text, and one without text still says that it is an error', () => {
  expect(errorResult('no such file')).toEqual({ content: [text('no such file')], isError: true })
  expect(textOf(errorResult(''))).toBe('error')
})

describe('isToolResult', () => {
  test.for<[is: boolean, value: unknown]>([
    [true, { content: [], isError: false }],
    [true, { content: [text('a'), image, { type: 'file', mediaType: 'text/plain', url: 'x' }], isError: true, value: 1 }],
    [false, { content: [text('a')] }],
    [false, { content: 'a', isError: false }],
    [false, { content: ['a'], isError: false }],
    [false, { content: [{ type: 'image', mediaType: 'image/png' }], isError: false }],
    [false, { content: [{ type: 'tool_call' }], isError: false }],
    [false, { content: [null], isError: false }],
    [false, { content: [{ type: 'text', text: 1 }], isError: false }],
    [false, { content: [{ type: 'video', mediaType: 'video/mp4', url: 'x' }], isError: false }],
    [false, null],
    [false, 'a'],
  ])('is %s for %j', ([is, value]) => {
    expect(isToolResult(value)).toBe(is)
  })
})

describe('capResult', () => {
  const length = (result: ToolResult): number =>
    result.content.reduce((sum, part) => sum + (part.type === 'text' ? part.text.length : 0), 0)

  test('gives back a result that fits as it is', () => {
    const result = toResult({ list: 'x'.repeat(180) })
    expect(capResult(result, 191)).toBe(result)
    expect(capResult(result, 190)).not.toBe(result)
  })

  test('keeps head and tail, names the original size and drops the value', () => {
    const result = capResult(toResult([`head${'x'.repeat(1000)}tail`]), 200)
    expect(textOf(result)).toMatch(/^\["headx+\n\[… 1012 characters in all; the middle is left out …\]\nx+tail"\]$/)
    expect(textOf(result)).toHaveLength(200)
    expect(result).not.toHaveProperty('value')
  })

  test('keeps the error flag, images and the mark of added text', () => {
    const whole: ToolResult = {
      isError: true,
      content: [text('a'.repeat(300)), image, { type: 'text', text: 'b'.repeat(300), added: true }],
    }
    const result = capResult(whole, 150)
    expect(result.isError).toBe(true)
    expect(result.content).toEqual([
      text(expect.stringMatching(/^a+\n\[… 600 characters/) as never),
      image,
      { type: 'text', text: expect.stringMatching(/^b+$/) as never, added: true },
    ])
  })

  test('never cuts a surrogate pair', () => {
    for (let shift = 0; shift < 4; shift++) {
      const result = capResult(toResult('x'.repeat(shift) + '🙂'.repeat(300) + 'x'.repeat(shift >> 1)), 150)
      expect(textOf(result)).not.toMatch(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/)
      expect(length(result)).toBeGreaterThan(145)
    }
  })

  test('keeps head and tail over many small parts', () => {
    const words = Array.from({ length: 200 }, (_, i) => `${i};`)
    const whole: ToolResult = { content: words.map(text), isError: false }
    for (let max = 200; max < 205; max++) {
      const result = capResult(whole, max)
      const [head = '', tail = ''] = textOf(result).split(/\n.*\n/)
      expect(words.join('').startsWith(head) && words.join('').endsWith(tail)).toBe(true)
      expect(length(result)).toBe(max)
    }
  })

  test('for any parts and any limit: not above the limit, head and tail from the text, one notice, and a second time nothing happens', () => {
    const parts = fc.array(fc.oneof(fc.string({ maxLength: 400, unit: 'grapheme' }).map(text), fc.constant(image)), {
      maxLength: 6,
    })
    fc.assert(
      fc.property(parts, fc.integer({ min: 1, max: 600 }), (content, maxChars) => {
        const whole: ToolResult = { content, isError: false, value: 1 }
        const result = capResult(whole, maxChars)
        const limit = Math.max(maxChars, 100)
        expect(length(result)).toBeLessThanOrEqual(limit)
        expect(capResult(result, maxChars)).toBe(result)
        if (length(whole) <= limit) return
        const [head = '', tail = '', ...more] = textOf(result).split(
          `\n[… ${length(whole)} characters in all; the middle is left out …]\n`,
        )
        expect(more).toEqual([])
        expect(textOf(whole).startsWith(head) && textOf(whole).endsWith(tail)).toBe(true)
        expect(result.content.filter(({ type }) => type === 'image')).toHaveLength(
          content.filter(({ type }) => type === 'image').length,
        )
      }),
    )
  })

  test('a limit that is too small for the notice counts as 100', () => {
    expect(length(capResult(toResult('x'.repeat(101)), 1))).toBe(100)
  })
})
