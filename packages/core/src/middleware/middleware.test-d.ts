import { describe, expectTypeOf, test } from 'vitest'
import type { AnyMiddleware, MetaOfAll, Middleware } from '@koagent/core'
import { defineMiddleware, deny, forTools, onEvents, stack, when } from '@koagent/core'

const approved = defineMiddleware<{ approved?: boolean }>({ name: 'approved' })
const user = defineMiddleware<{ user: string }>({ name: 'user' })
const none = defineMiddleware({ name: 'none' })

describe('metadata', () => {
  test('is what defineMiddleware was told, and unknown where it was told nothing', () => {
    expectTypeOf(user).toEqualTypeOf<Middleware<{ user: string }>>()
    expectTypeOf(none).toEqualTypeOf<Middleware>()
  })

  test('reaches every hook', () => {
    defineMiddleware<{ user: string }>({
      name: 'x',
      before_run: (ctx, next) => (ctx.metadata.user === 'root' ? deny('no') : next()),
      async after_tool(ctx, next) {
        expectTypeOf(ctx.metadata).toEqualTypeOf<{ user: string }>()
        return next()
      },
      on_event: onEvents(['run_end'], (_event, ctx) => void expectTypeOf(ctx.metadata).toEqualTypeOf<{ user: string }>()),
    })
  })

  test('of a list is all of it together', () => {
    expectTypeOf<MetaOfAll<[{ a: 1 }, unknown, { b: 2 }]>>().toEqualTypeOf<{ a: 1 } & { b: 2 }>()
    expectTypeOf<MetaOfAll<[]>>().toBeUnknown()
    expectTypeOf<MetaOfAll<[unknown, unknown]>>().toBeUnknown()
  })

  test('of a stack is that of its members', () => {
    expectTypeOf(stack('s', [approved, user])).toEqualTypeOf<Middleware<{ approved?: boolean } & { user: string }>>()
    expectTypeOf(stack('s', [none])).toEqualTypeOf<Middleware>()
    expectTypeOf(stack('s', [])).toEqualTypeOf<Middleware>()
    expectTypeOf(stack('outer', [stack('inner', [user]), approved])).toExtend<
      Middleware<{ user: string } & { approved?: boolean }>
    >()
  })

  test('of a wrapped middleware is its own, and the predicate sees it', () => {
    expectTypeOf(forTools('shell', user)).toEqualTypeOf<Middleware<{ user: string }>>()
    const some = when((ctx) => {
      expectTypeOf(ctx.metadata).toEqualTypeOf<{ user: string }>()
      expectTypeOf(ctx.toolName).toEqualTypeOf<string | undefined>()
      return true
    }, user)
    expectTypeOf(some).toEqualTypeOf<Middleware<{ user: string }>>()
  })
})

describe('hooks need no annotation', () => {
  test('in the list of a stack, beside others', () => {
    stack('s', [
      user,
      {
        name: 'inline',
        before_tool(ctx, next) {
          expectTypeOf(ctx.toolName).toEqualTypeOf<string>()
          expectTypeOf(ctx.metadata).toBeUnknown()
          ctx.args = {}
          return next()
        },
      },
      approved,
    ])
  })

  test('inside when and forTools', () => {
    when((ctx) => ctx.turn > 0, {
      name: 'inline',
      after_llm_step: async (ctx, next) => {
        expectTypeOf(ctx.attempt).toEqualTypeOf<number>()
        return next()
      },
    })
    forTools(['read', /x/.source], {
      name: 'inline',
      async around_tool(ctx, next) {
        expectTypeOf(ctx.args).not.toBeAny()
        return next()
      },
    })
  })
})

test('any middleware fits a list of any middleware', () => {
  expectTypeOf([approved, user, none]).toExtend<readonly AnyMiddleware[]>()
})

test('a middleware that needs less stands in for one that needs more, never the other way', () => {
  expectTypeOf(none).toExtend<Middleware<{ user: string }>>()
  expectTypeOf(user).not.toExtend<Middleware>()
})

test('what does not fit does not compile', () => {
  // @ts-expect-error a name is needed
  defineMiddleware({ before_run: () => deny('x') })
  // @ts-expect-error there is no such policy
  defineMiddleware({ name: 'x', errors: 'swallow' })
  // @ts-expect-error there is no such option
  defineMiddleware({ name: 'x', order: 5 })
  // @ts-expect-error a hook is a function
  defineMiddleware({ name: 'x', before_run: 5 })
  // @ts-expect-error this metadata has no such field
  defineMiddleware<{ user: string }>({ name: 'x', before_run: (ctx, next) => (ctx.metadata.name ? deny('x') : next()) })
})
