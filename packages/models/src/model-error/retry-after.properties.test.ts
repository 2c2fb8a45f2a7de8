import { assert, constantFrom, date, double, integer, oneof, property, record, string } from 'fast-check'
import { expect, test } from 'vitest'
import { retryAfterMs } from './retry-after.ts'

const day = 86_400_000
const printable = string({ unit: 'grapheme-ascii', maxLength: 30 })
const value = oneof(
  printable,
  integer().map(String),
  double().map(String),
  date({ noInvalidDate: true }).map((when) => when.toUTCString()),
  constantFrom('', '-0', '0x10', '1e400', '٣', '5, 10', 'Infinity', 'NaN', 'null', '9'.repeat(400)).map((text) =>
    text.replace(/[^ -~]/g, '3'),
  ),
)

test('any headers ask for no wait, or for whole milliseconds up to a day', () => {
  assert(
    property(record({ 'retry-after': value, 'retry-after-ms': value }, { requiredKeys: [] }), (headers) => {
      const ms = retryAfterMs(new Headers(headers), Date.parse('2031-03-04T10:00:00Z'))
      if (ms === undefined) return
      expect(Number.isInteger(ms)).toBe(true)
      expect(ms).toBeGreaterThanOrEqual(0)
      expect(ms).toBeLessThanOrEqual(day)
    }),
    { numRuns: 2000 },
  )
})

test('the more precise header wins wherever it is well-formed', () => {
  assert(
    property(integer({ min: 0, max: day }), value, (ms, after) => {
      expect(retryAfterMs(new Headers({ 'retry-after-ms': String(ms), 'retry-after': after }))).toBe(ms)
    }),
  )
})
