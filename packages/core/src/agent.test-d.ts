import { describe, expectTypeOf, test } from 'vitest'
import type { Agent as AnyAgent, AgentEvent, MiddlewareList, Run, RunResult } from '@koagent/core'
import { Agent, defineMiddleware, forTools, onEvents, stack, when } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'

const model = scripted([])
const plain = new Agent({ model })
const approved = defineMiddleware<{ approved?: boolean }>({ name: 'approved' })
const user = defineMiddleware<{ user: string }>({ name: 'user' })

describe('metadata', () => {
  test('may be anything, or nothing, where no layer needs any', () => {
    expectTypeOf(plain).toEqualTypeOf<AnyAgent>()
    void plain.run('x')
    void plain.run('x', { metadata: { foo: 1 } })
    void plain.run('x', {})
  })

  test('is what all layers need together', () => {
    for (const agent of [
      plain.use(approved, user),
      plain.use(approved).use(user),
      new Agent({ model, middleware: [approved, user] }),
    ]) {
      void agent.run('x', { metadata: { user: 'u' } })
      void agent.run('x', { metadata: { user: 'u', approved: true } })
      // @ts-expect-error user is missing
      void agent.run('x', { metadata: { approved: true } })
      // @ts-expect-error user is a text
      void agent.run('x', { metadata: { user: 1 } })
      // @ts-expect-error there is no such field
      void agent.run('x', { metadata: { user: 'u', aproved: true } })
      // @ts-expect-error metadata is missing
      void agent.run('x', {})
      // @ts-expect-error options are missing
      void agent.run('x')
      // @ts-expect-error in a stream just so
      agent.stream('x')
    }
  })

  test('may be left out where every field of it may', () => {
    const agent = new Agent({ model, middleware: [approved] })
    void agent.run('x')
    void agent.run('x', { metadata: { approved: true } })
    // @ts-expect-error but not be of another type
    void agent.run('x', { metadata: { approved: 'yes' } })
  })

  test('of layers inside a stack and inside wrappers counts', () => {
    const agent = plain.use(
      stack('s', [approved, when((ctx) => ctx.metadata.user !== 'root', user)]),
      forTools('shell', approved),
    )
    void agent.run('x', { metadata: { user: 'u' } })
    // @ts-expect-error user is missing
    void agent.run('x')
  })

  test('of a hundred layers is all of it together', () => {
    type Metas = [
      ...Numbered<'a'>,
      ...Numbered<'b'>,
      ...Numbered<'c'>,
      ...Numbered<'d'>,
      ...Numbered<'e'>,
      ...Numbered<'f'>,
      ...Numbered<'g'>,
      ...Numbered<'h'>,
      ...Numbered<'i'>,
      ...Numbered<'j'>,
    ]
    expectTypeOf<Metas['length']>().toEqualTypeOf<100>()
    const agent = new Agent({ model, middleware: {} as MiddlewareList<Metas> })
    const all = {} as Record<`${Letter}${Digit}`, 1>
    void agent.run('x', { metadata: all })
    const { j9: _, ...most } = all
    // @ts-expect-error the last one is missing
    void agent.run('x', { metadata: most })
  })
})

type Letter = 'a' | 'b' | 'c' | 'd' | 'e' | 'f' | 'g' | 'h' | 'i' | 'j'
type Digit = 0 | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9
type Field<Name extends string> = { [_ in Name]: 1 }
type Numbered<L extends Letter> = [
  Field<`${L}0`>,
  Field<`${L}1`>,
  Field<`${L}2`>,
  Field<`${L}3`>,
  Field<`${L}4`>,
  Field<`${L}5`>,
  Field<`${L}6`>,
  Field<`${L}7`>,
  Field<`${L}8`>,
  Field<`${L}9`>,
]

describe('hooks need no annotation', () => {
  test('in use(), beside others', () => {
    const agent = plain.use(
      user,
      {
        name: 'inline',
        before_tool: (ctx, next) => {
          expectTypeOf(ctx.toolName).toEqualTypeOf<string>()
          ctx.args = { path: ctx.toolName }
          return next()
        },
        on_event: onEvents(['tool_result'], (event) => void expectTypeOf(event.callId).toEqualTypeOf<string>()),
      },
      approved,
    )
    // @ts-expect-error the others still count
    void agent.run('x')
  })

  test("in the constructor's list, beside others", () => {
    const agent = new Agent({
      model,
      middleware: [
        {
          name: 'inline',
          async after_llm_step(ctx, next) {
            expectTypeOf(ctx.step.finishReason).not.toBeAny()
            return next()
          },
        },
        user,
      ],
    })
    // @ts-expect-error the others still count
    void agent.run('x')
  })

  test("in a run's own layers", () => {
    void plain.run('x', {
      middleware: [{ name: 'inline', on_permission: (ctx, next) => (expectTypeOf(ctx.args).not.toBeAny(), next()) }],
    })
  })
})

test('a run and a stream give what their types say', async () => {
  expectTypeOf(plain.run('x')).toEqualTypeOf<Promise<RunResult>>()
  const run = plain.stream([{ type: 'text', text: 'x' }])
  expectTypeOf(run).toEqualTypeOf<Run>()
  for await (const event of run) expectTypeOf(event).toEqualTypeOf<AgentEvent>()
  for await (const text of run.text()) expectTypeOf(text).toEqualTypeOf<string>()
  expectTypeOf(await run.result).toEqualTypeOf<RunResult>()
})

test('an agent that needs less metadata stands in for one that needs more', () => {
  expectTypeOf(plain).toExtend<AnyAgent<{ user: string }>>()
})

test('what does not fit does not compile', () => {
  // @ts-expect-error a model is needed
  expectTypeOf(() => new Agent({})).toBeFunction()
  // @ts-expect-error there is no such option
  expectTypeOf(() => new Agent({ model, tool: [] })).toBeFunction()
  // @ts-expect-error there is no such option
  void plain.run('x', { timeout: 5 })
})
