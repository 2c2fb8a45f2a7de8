import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import * as mini from 'zod/mini'
import { ConfigError } from '../errors.ts'
import { deepFreeze } from '../freeze.ts'
import type { JsonObject } from '../json.ts'
import { toSchema, toValidate } from './schema.ts'
import type { StandardSchemaLike } from './schema.ts'

type Standard = StandardSchemaLike['~standard']

function standard(rest: Partial<Standard>): StandardSchemaLike {
  return { '~standard': { version: 1, vendor: 'acme', validate: (value) => ({ value }), ...rest } }
}

describe('a schema is shown to the model', () => {
  const path = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] }

  test.for<[what: string, input: StandardSchemaLike | JsonObject, shown: JsonObject]>([
    ['zod', z.object({ path: z.string() }), path],
    ['zod/mini', mini.object({ path: mini.string() }), path],
    ['JSON Schema', path, path],
    ['a Standard JSON Schema', standard({ jsonSchema: { input: () => ({ $schema: 'x', ...path }) } }), path],
    ['a named zod schema', z.object({ path: z.string() }).meta({ id: 'schema-test/path' }), path],
    ['an empty zod object', z.object({}), { type: 'object', properties: {} }],
  ])('%s', ([, input, shown]) => {
    expect(toSchema(input, 't').jsonSchema).toStrictEqual(shown)
  })

  test('in its input form: a default is optional, a transform takes what it starts from', () => {
    const schema = toSchema(z.object({ n: z.number().default(3), size: z.string().transform(Number) }), 't')
    expect(schema.jsonSchema).toMatchObject({
      properties: { n: { type: 'number', default: 3 }, size: { type: 'string' } },
      required: ['size'],
    })
  })

  test('a JSON Schema keeps what it says, also what nothing here understands, but for the name of its draft', () => {
    const input = { type: 'object', properties: {}, 'x-hint': [1] }
    expect(toSchema({ $schema: 'https://example.com/draft', ...input }, 't').jsonSchema).toStrictEqual(input)
  })

  test('with descriptions and other metadata, at every depth, but no ids', () => {
    const size = z.number().meta({ id: 'schema-test/size', title: 'Size' })
    const schema = toSchema(z.object({ size: size.describe('in bytes'), other: size }), 't')
    expect(schema.jsonSchema['properties']).toEqual({
      size: { type: 'number', title: 'Size', description: 'in bytes' },
      other: { type: 'number', title: 'Size' },
    })
  })

  test('recursion goes on by reference, with the type at the root', () => {
    const Node = z
      .object({
        value: z.number(),
        get next() {
          return Node.optional()
        },
      })
      .meta({ id: 'schema-test/node' })
    const { jsonSchema, validate } = toSchema(Node, 't')
    expect(jsonSchema['type']).toBe('object')
    expect(jsonSchema).toMatchObject({ properties: { next: { $ref: '#' } } })
    expect(validate({ value: 1, next: { value: 'x' } })).toEqual({
      ok: false,
      issues: 'next.value: expected number, received string',
    })
  })

  test('frozen, in a copy', () => {
    const input = { type: 'object', properties: { a: { type: 'string' } } }
    const { jsonSchema } = toSchema(input, 't')
    expect(Object.isFrozen(jsonSchema['properties'])).toBe(true)
    expect(Object.isFrozen(input.properties)).toBe(false)
  })
})

describe('validate', () => {
  test('gives the output form', () => {
    const schema = toSchema(z.object({ n: z.number().default(3), size: z.string().transform(Number) }), 't')
    expect(schema.validate({ size: '7' })).toEqual({ ok: true, output: { n: 3, size: 7 } })
  })

  test.for<[name: string, input: StandardSchemaLike | JsonObject]>([
    ['zod', z.object({ n: z.number() })],
    ['zod/mini', mini.object({ n: mini.number() })],
    ['JSON Schema', { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }],
  ])('says where and what was expected (%s)', ([name, input]) => {
    const result = toSchema(input, 't').validate({ n: 'x' })
    expect(result).toEqual({
      ok: false,
      issues: name === 'zod/mini' ? expect.stringMatching(/^n: /) : 'n: expected number, received string',
    })
  })

  test('keeps fields that an open JSON Schema does not name, and refuses them where it is closed', () => {
    expect(toSchema({ type: 'object' }, 't').validate({ a: 1 })).toEqual({ ok: true, output: { a: 1 } })
    expect(toSchema({ type: 'object', additionalProperties: false }, 't').validate({ a: 1 })).toMatchObject({ ok: false })
  })

  test.for<[name: string, input: StandardSchemaLike | JsonObject]>([
    ['zod', z.looseObject({ list: z.any() })],
    ['JSON Schema', { type: 'object' }],
    ['another library', standard({ jsonSchema: { input: () => ({ type: 'object' }) } })],
  ])('shares nothing with the arguments (%s)', ([, input]) => {
    const args = deepFreeze({ list: [{ n: 1 }] })
    const result = toSchema(input, 't').validate(args) as { output: typeof args }
    expect(result.output).toEqual(args)
    expect(result.output.list).not.toBe(args.list)
    expect(Object.isFrozen(result.output.list[0])).toBe(false)
  })

  test('takes an absent field for absent', () => {
    expect(toSchema(z.strictObject({}), 't').validate({ a: undefined })).toEqual({ ok: true, output: {} })
  })

  test('waits for an asynchronous schema', async () => {
    const schema = toSchema(z.object({ n: z.number().refine(async (n) => n > 1, 'too small') }), 't')
    expect(await schema.validate({ n: 2 })).toEqual({ ok: true, output: { n: 2 } })
    expect(await schema.validate({ n: 1 })).toEqual({ ok: false, issues: 'n: too small' })
  })

  test.for<[how: string, validate: Standard['validate']]>([
    [
      'throws',
      () => {
        throw new Error('broken')
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
  ])('a schema that %s refuses with its message', async ([, validate]) => {
    const schema = toSchema(standard({ validate, jsonSchema: { input: () => ({ type: 'object' }) } }), 't')
    expect(await schema.validate({})).toEqual({ ok: false, issues: 'broken' })
  })

  test('refuses arguments that are nested too deeply', () => {
    let args: JsonObject = {}
    for (let i = 0; i < 100_000; i++) args = { args }
    expect(toSchema(z.looseObject({}), 't').validate(args)).toMatchObject({ ok: false })
  })
})

describe('a schema that cannot serve is refused, with the tool and the way out', () => {
  test.for<[what: string, input: unknown, message: RegExp]>([
    ['nothing', undefined, /tool 'shell' has no usable schema: give a Standard Schema such as z\.object/],
    ['text', 'string', /tool 'shell' has no usable schema/],
    ['a list', [], /tool 'shell' has no usable schema/],
    ['a schema without its JSON Schema', standard({ vendor: 'acme' }), /tool 'shell' .*'acme'.*toStandardJsonSchema/],
    ['a type that JSON has not', z.object({ at: z.date() }), /tool 'shell' has no usable schema: Date cannot/],
    ['a string schema', z.string(), /tool 'shell' .*must be "object" and is "string": wrap it/],
    ['a JSON Schema without a type', { properties: {} }, /tool 'shell' .*must be "object" and is undefined/],
    ['a union', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]), /tool 'shell' .*and is undefined/],
    ['a nullable object', { type: ['object', 'null'] }, /tool 'shell' .*and is \["object","null"\]/],
    ['a reference at the root', { $ref: '#/$defs/a', $defs: { a: { type: 'object' } } }, /tool 'shell' .*must be "object"/],
    ['a reference to nowhere', { $ref: '#/$defs/gone' }, /tool 'shell'/],
    ['a keyword that cannot be checked', { type: 'object', if: {}, else: {} }, /tool 'shell' has no usable schema: .*if\/then/],
    [
      'a pattern that is none',
      { type: 'object', properties: { a: { type: 'string', pattern: '(' } } },
      /tool 'shell' has no usable schema: Invalid reg/,
    ],
  ])('%s', ([, input, message]) => {
    expect(() => toSchema(input as never, 'shell')).toThrow(ConfigError)
    expect(() => toSchema(input as never, 'shell')).toThrow(message)
  })
})

test('toValidate does not throw either', () => {
  const validate = (): never => {
    throw new Error('broken')
  }
  expect(toValidate(standard({ validate }), 't')(1)).toEqual({ ok: false, issues: 'broken' })
})

test('toValidate checks any type and needs no JSON Schema', () => {
  expect(toValidate(z.string(), 't')('x')).toEqual({ ok: true, output: 'x' })
  expect(toValidate(standard({}), 't')(1)).toEqual({ ok: true, output: 1 })
  expect(toValidate({ type: 'array', items: { type: 'number' } }, 't')(['x'])).toEqual({
    ok: false,
    issues: '0: expected number, received string',
  })
})
