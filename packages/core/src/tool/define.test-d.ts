import { expectTypeOf, test } from 'vitest'
import * as z from 'zod'
import type { JsonObject } from '../json.ts'
import { stateKey } from '../state.ts'
import { defineTool } from './define.ts'
import type { Tool, ToolCtx } from './define.ts'
import type { StandardSchemaLike } from './schema.ts'

const about = { name: 't', description: 'd' }
const turns = stateKey('acme/turns', z.number().default(0))

test('args have the output type of the schema, without annotation', () => {
  const input = z.object({ n: z.number().default(1), size: z.string().transform(Number), note: z.string().optional() })
  defineTool({
    ...about,
    input,
    execute: (args, ctx) => {
      expectTypeOf(args).toEqualTypeOf<{ n: number; size: number; note?: string | undefined }>()
      expectTypeOf(ctx).toEqualTypeOf<ToolCtx>()
    },
  })
})

test('needsApproval gets the same arguments', () => {
  const input = z.object({ n: z.number().default(1) })
  defineTool({ ...about, input, execute: () => '', needsApproval: true })
  defineTool({
    ...about,
    input,
    execute: () => '',
    needsApproval: async (args) => {
      expectTypeOf(args).toEqualTypeOf<{ n: number }>()
      return args.n > 1
    },
  })
  // @ts-expect-error a predicate says yes or no
  defineTool({ ...about, input, execute: () => '', needsApproval: () => 'yes' })
})

test('so they have in an async method and in an async generator', () => {
  const input = z.object({ n: z.number() })
  const method = defineTool({
    ...about,
    input,
    async execute({ n }) {
      expectTypeOf(n).toEqualTypeOf<number>()
    },
  })
  const generator = defineTool({
    ...about,
    input,
    async *execute({ n }) {
      expectTypeOf(n).toEqualTypeOf<number>()
      yield 'half'
      return n
    },
  })
  expectTypeOf([method, generator]).toEqualTypeOf<Tool[]>()
})

test('so they have with any Standard Schema', () => {
  const input = {} as StandardSchemaLike<{ path: string }>
  defineTool({ ...about, input, execute: (args) => expectTypeOf(args).toEqualTypeOf<{ path: string }>() })
})

test('args of a JSON Schema are a JSON object', () => {
  defineTool({
    ...about,
    input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    execute: (args) => expectTypeOf(args).toEqualTypeOf<JsonObject>(),
  })
})

test('any tools fit in one list', () => {
  const tools: readonly Tool[] = [
    defineTool({ ...about, input: z.object({ n: z.number() }), execute: ({ n }) => n }),
    defineTool({ ...about, input: { type: 'object' }, execute: () => undefined }),
  ]
  expectTypeOf(tools[0]?.execute).toEqualTypeOf<Tool['execute'] | undefined>()
})

test('state is typed by its key', () => {
  const { get, set, update } = {} as ToolCtx
  expectTypeOf(get(turns)).toEqualTypeOf<number>()
  expectTypeOf(update(turns, (n) => n + 1)).toEqualTypeOf<number>()
  set(turns, 1)
  // @ts-expect-error a string is no number
  set(turns, 'x')
  // @ts-expect-error a reducer is synchronous
  update(turns, async (n) => n)
})

test('what does not fit does not compile', () => {
  const input = z.object({ n: z.number() })
  expectTypeOf(defineTool({ ...about, input, execute: ({ n }) => n })).toEqualTypeOf<Tool>()
  // @ts-expect-error args have no such field
  defineTool({ ...about, input, execute: ({ m }) => m })
  // @ts-expect-error n is a number
  defineTool({ ...about, input, execute: (args: { n: string }) => args.n })
  // @ts-expect-error there is no such option
  defineTool({ ...about, input, execute: () => 1, timeout: 5 })
  // @ts-expect-error a description is needed
  defineTool({ name: 't', input, execute: () => 1 })
  // @ts-expect-error an input schema is needed
  defineTool({ ...about, execute: () => 1 })
  // @ts-expect-error a number is no schema
  defineTool({ ...about, input: 5, execute: () => 1 })
})
