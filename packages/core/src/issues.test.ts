import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { issuesText } from './issues.ts'

function text(schema: z.ZodType, value: unknown): string {
  return issuesText(schema.safeParse(value).error?.issues ?? [])
}

describe('issuesText', () => {
  test.for<[what: string, schema: z.ZodType, value: unknown, expected: string]>([
    ['the path and what was expected', z.object({ a: z.string() }), { a: 1 }, 'a: expected string, received number'],
    ['a path into a list', z.object({ l: z.array(z.number()) }), { l: [1, 'x'] }, 'l.1: expected number, received string'],
    ['no path at the root', z.object({}), 'x', 'expected object, received string'],
    ['a missing field', z.object({ a: z.string() }), {}, 'a: expected string, received undefined'],
    ['the options of an enum', z.object({ a: z.enum(['p', 'q']) }), { a: 'r' }, 'a: expected one of "p"|"q"'],
    [
      'what each member of a union wants',
      z.object({ a: z.union([z.string(), z.object({ b: z.number() })]) }),
      { a: { b: 'x' } },
      'a: expected string, received object, or a.b: expected number, received string',
    ],
    [
      'a line for each issue',
      z.object({ a: z.string(), b: z.string() }),
      {},
      'a: expected string, received undefined\nb: expected string, received undefined',
    ],
  ])('shows %s', ([, schema, value, expected]) => {
    expect(text(schema, value)).toBe(expected)
  })

  test('reads path segments that are objects, as Standard Schema allows', () => {
    expect(issuesText([{ message: 'too long', path: [{ key: 'a' }, 0] }])).toBe('a.0: too long')
  })

  test('shows ten and counts the others', () => {
    const lines = text(
      z.array(z.string()),
      Array.from({ length: 25 }, () => 0),
    ).split('\n')
    expect(lines).toHaveLength(11)
    expect(lines[10]).toBe('and 15 more')
  })

  test('is never empty', () => {
    expect(issuesText([])).not.toBe('')
  })
})
