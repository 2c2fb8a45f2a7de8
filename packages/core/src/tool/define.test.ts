import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import { ConfigError } from '../errors.ts'
import { defineTool } from './define.ts'
import type { ToolCtx, ToolOptions } from './define.ts'

const input = z.object({ path: z.string() })
const options = { name: 'read', description: 'Reads a file.', input, execute: ({ path }: { path: string }) => path }
const noCtx = {} as ToolCtx

describe('defineTool', () => {
  test('runs beside others, is not idempotent and has no limits of its own, by default', () => {
    const tool = defineTool(options)
    expect(tool).toMatchObject({ name: 'read', description: 'Reads a file.', parallel: true, idempotent: false })
    expect(Object.keys(tool)).not.toEqual(expect.arrayContaining(['timeoutMs']))
    expect('output' in tool || 'timeoutMs' in tool || 'maxResultChars' in tool).toBe(false)
  })

  test('keeps what it is told', () => {
    const tool = defineTool({ ...options, parallel: false, idempotent: true, timeoutMs: 5, maxResultChars: 10 })
    expect(tool).toMatchObject({ parallel: false, idempotent: true, timeoutMs: 5, maxResultChars: 10 })
  })

  test('is frozen, and executes what it was given', () => {
    const tool = defineTool(options)
    expect(Object.isFrozen(tool)).toBe(true)
    expect(tool.execute({ path: 'a' }, noCtx)).toBe('a')
  })

  test('takes any characters in a name', () => {
    expect(defineTool({ ...options, name: 'calendar.create/天気' }).name).toBe('calendar.create/天気')
  })

  test('checks what execute returns, in its output form', () => {
    const { output } = defineTool({ ...options, output: z.object({ n: z.string().transform(Number) }) })
    expect(output?.({ n: '3' })).toEqual({ ok: true, output: { n: 3 } })
    expect(output?.({ n: 3 })).toEqual({ ok: false, issues: 'n: expected string, received number' })
  })

  test.for<[what: string, change: Partial<Record<keyof ToolOptions<never>, unknown>>, message: RegExp]>([
    ['no name', { name: undefined }, /a tool needs a name/],
    ['an empty name', { name: '' }, /a tool needs a name/],
    ['no description', { description: undefined }, /tool 'read' needs a description/],
    ['no input', { input: undefined }, /tool 'read' has no usable schema/],
    ['an input that is no object', { input: z.string() }, /tool 'read'.*must be "object" and is "string"/],
    ['no execute', { execute: undefined }, /tool 'read' needs execute/],
    ['a bad output schema', { output: 'string' }, /tool 'read' has no usable schema/],
    ['no time', { timeoutMs: 0 }, /tool 'read': timeoutMs is 0/],
    ['endless time', { timeoutMs: Infinity }, /tool 'read': timeoutMs is Infinity/],
    ['time as text', { timeoutMs: '5' }, /tool 'read': timeoutMs is 5/],
    ['no room', { maxResultChars: -1 }, /tool 'read': maxResultChars is -1/],
    ['room that is no number', { maxResultChars: NaN }, /tool 'read': maxResultChars is NaN/],
  ])('refuses %s, by name', ([, change, message]) => {
    const wrong = { ...options, ...change } as never
    expect(() => defineTool(wrong)).toThrow(ConfigError)
    expect(() => defineTool(wrong)).toThrow(message)
  })
})
