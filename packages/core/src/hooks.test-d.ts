import { describe, expectTypeOf, test } from 'vitest'
import type {
  Agent,
  AgentEvent,
  Allow,
  Ask,
  ContinueRun,
  Ctx,
  Decision,
  Deny,
  Drop,
  Hook,
  Json,
  JsonObject,
  LLMStep,
  Logger,
  May,
  Point,
  Raise,
  ReplaceResult,
  Retry,
  RunController,
  RunResult,
  Session,
  SessionView,
  StepRequest,
  Stop,
  Tool,
  ToolCallPart,
  ToolResult,
  ToolStatus,
  TurnResult,
  UserMessage,
  hooks,
} from '@koagent/core'
import { allow, continue_run, defineMiddleware, deny, drop, onEvents, replace_result, retry, stop } from '@koagent/core'

type Table = typeof hooks
type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type MethodsOf<T> = { [K in keyof T]-?: NonNullable<T[K]> extends (...args: never[]) => unknown ? K : never }[keyof T]
type WritableOf<T> = {
  [K in keyof T]-?: Equal<{ [_ in K]: T[K] }, { -readonly [_ in K]: T[K] }> extends true ? K : never
}[keyof T]
/** One name a point for which something does not hold; `never` when it holds everywhere. */
type Failing<Checks extends Record<Point, boolean>> = { [P in Point]: Checks[P] extends true ? never : P }[Point]

/** The compiler's error names the points for which it does not. */
function holdsEverywhere<_ extends never>(): void {}

describe('a row of the hook table says the same twice: in its cells and in its types', () => {
  test('fields', () => {
    type Checks = {
      [P in Point]: Equal<Table[P]['fields'][number], keyof Table[P]['adds']>
    }
    holdsEverywhere<Failing<Checks>>()
  })

  test('fields that may be assigned; an event only by onEvents with rewrite', () => {
    type Fields<P extends Point> = Omit<Ctx<P>, MethodsOf<Ctx<P>>>
    type Checks = { [P in Point]: Equal<WritableOf<Fields<P>>, Exclude<Table[P]['write'][number], 'event'>> }
    holdsEverywhere<Failing<Checks>>()
  })

  test('kinds of decision', () => {
    type KindOf<May> = May extends { readonly kind: infer Kind extends string } ? Kind : never
    type Checks = { [P in Point]: Equal<Table[P]['decisions'][number], KindOf<Table[P]['may']>> }
    holdsEverywhere<Failing<Checks>>()
  })

  test('a gate gives the decision further in, or undefined; what the others pass on may be returned', () => {
    type Checks = {
      [P in Point]: Table[P]['kind'] extends 'gate'
        ? Equal<Table[P]['next'], Table[P]['may'] | undefined>
        : Table[P]['next'] extends May<P>
          ? true
          : false
    }
    holdsEverywhere<Failing<Checks>>()
  })
})

test('every ctx has the same base', () => {
  type Base = {
    readonly agent: { readonly name: string; readonly version?: string | undefined }
    readonly runId: string
    readonly turn: number
    readonly input: UserMessage
    readonly metadata: unknown
    readonly signal: AbortSignal
    readonly cancelled: boolean
    readonly controller: RunController
    readonly logger: Logger
    readonly path: readonly string[]
    readonly decision: Decision | undefined
    sanitize(value: Json): Json
  }
  type Checks = { [P in Point]: Ctx<P> extends Base & { readonly point: P } ? true : false }
  holdsEverywhere<Failing<Checks>>()
})

test('no field of a ctx is any', () => {
  type IsAny<T> = 0 extends 1 & T ? true : false
  type Clean<T> = true extends { [K in keyof T]: IsAny<T[K]> }[keyof T] ? false : true
  type Checks = { [P in Point]: Clean<Ctx<P>> }
  holdsEverywhere<Failing<Checks>>()
})

test('only the points before the model is asked may change the session', () => {
  type MayChange = { [P in Point]: Ctx<P> extends { readonly session: Session } ? P : never }[Point]
  expectTypeOf<MayChange>().toEqualTypeOf<'on_session_start' | 'before_run' | 'before_turn' | 'before_llm_step'>()
  expectTypeOf<Ctx<'before_tool'>['session']>().toEqualTypeOf<SessionView>()
})

test('a hook knows its ctx and its next by its name alone', () => {
  defineMiddleware({
    name: 'all',
    on_session_start(ctx, next) {
      expectTypeOf(ctx.source).toEqualTypeOf<'startup' | 'resume'>()
      return next()
    },
    async before_run(ctx, next) {
      ctx.maxTurns = 3
      expectTypeOf(await next()).toExtend<Decision | undefined>()
    },
    async around_run(ctx, next) {
      ctx.signal = new AbortController().signal
      expectTypeOf(await next()).toEqualTypeOf<RunResult>()
    },
    on_input(ctx, next) {
      expectTypeOf(ctx.source).toEqualTypeOf<'run' | 'steer' | 'continue_run'>()
      ctx.message = { role: 'user', content: [] }
      return next()
    },
    before_turn: (ctx, next) => (ctx.turn > 3 ? deny('enough') : next()),
    before_llm_step(ctx, next) {
      ctx.request = { ...ctx.request, system: 'x' }
      expectTypeOf(ctx.purpose).toEqualTypeOf<'step' | 'helper'>()
      ctx.addContext('x')
      return next()
    },
    async around_llm_step(ctx, next) {
      ctx.transform(async function* (parts) {
        for await (const part of parts) if (part.type !== 'raw') yield part
      })
      expectTypeOf(ctx.attempt).toEqualTypeOf<number>()
      const step = await next()
      expectTypeOf(step).toEqualTypeOf<LLMStep>()
      return step
    },
    after_llm_step: async (ctx, next) => {
      expectTypeOf(ctx.request).toEqualTypeOf<StepRequest>()
      const step = await next()
      return step.finishReason === 'stop' ? step : retry()
    },
    on_permission(ctx, next) {
      expectTypeOf(ctx.args).toEqualTypeOf<JsonObject>()
      expectTypeOf(ctx.tool).toEqualTypeOf<Tool>()
      return next()
    },
    before_tool: (ctx, next) => {
      ctx.args = { ...ctx.args, limit: 10 }
      return next()
    },
    on_permission_request: (ctx) => (ctx.asker === 'x' ? allow({ args: {} }) : deny(ctx.reason)),
    async around_tool(ctx, next) {
      expectTypeOf(ctx.toolCall).toEqualTypeOf<ToolCallPart>()
      expectTypeOf(ctx.idempotencyKey).toEqualTypeOf<string>()
      await ctx.progress({ percent: 1 })
      expectTypeOf(await next()).toEqualTypeOf<ToolResult>()
    },
    async after_tool(ctx, next) {
      ctx.result = await next()
      expectTypeOf(ctx.executed).toEqualTypeOf<boolean>()
    },
    async after_turn(ctx, next) {
      expectTypeOf(await next()).toEqualTypeOf<TurnResult>()
      return ctx.turn > 1 ? stop('enough') : undefined
    },
    on_stop: (ctx, next) => (ctx.stopHookActive ? next() : continue_run('go on')),
    on_error(ctx, next) {
      expectTypeOf(ctx.error).toEqualTypeOf<Error>()
      expectTypeOf(ctx.phase).toEqualTypeOf<'llm_step' | 'tool' | 'hook' | 'session'>()
      return ctx.attempt < 3 ? retry({ delayMs: 1 }) : next()
    },
    on_event: (ctx, next) => {
      expectTypeOf(ctx.event).toEqualTypeOf<AgentEvent>()
      return next()
    },
    async after_run(ctx, next) {
      const result = await next()
      return { ...result, text: ctx.result.text.trim() }
    },
    on_session_end(ctx, next) {
      expectTypeOf(ctx.reason).toEqualTypeOf<string>()
      return next()
    },
  })
})

test('an event handler knows the event by its type', () => {
  const handler = onEvents(['tool_result'], (event) => void expectTypeOf(event.status).toEqualTypeOf<ToolStatus>())
  expectTypeOf(handler).toExtend<Hook<'on_event'>>()
  defineMiddleware<{ user: string }>({
    name: 'a',
    on_event: onEvents(['tool_call_begin', 'text_delta'], async (event, ctx) => {
      if (event.type === 'text_delta') expectTypeOf(event.text).toEqualTypeOf<string>()
      else expectTypeOf(event.args).toEqualTypeOf<JsonObject>()
      expectTypeOf(ctx.metadata.user).toEqualTypeOf<string>()
    }),
  })
  onEvents(['text_delta'], (event) => ({ ...event, text: event.text.trim() }), { rewrite: true })
  onEvents(['text_delta'], () => drop(), { rewrite: true })
  // @ts-expect-error there is no such event
  onEvents(['text'], () => {})
  // @ts-expect-error dropping has to be asked for
  onEvents(['text_delta'], () => drop())
  // @ts-expect-error so has rewriting
  onEvents(['text_delta'], (event) => ({ ...event, text: '' }))
  // @ts-expect-error an event keeps its type
  onEvents(['text_delta'], (event) => ({ ...event, type: 'error' as const }), { rewrite: true })
})

test('a decision of a kind that the point does not take does not compile', () => {
  type Decisions = {
    allow: Allow
    ask: Ask
    deny: Deny
    replace_result: ReplaceResult<never>
    retry: Retry
    stop: Stop
    continue_run: ContinueRun
    raise: Raise
    drop: Drop
  }
  /** `point kind` where types and table disagree. */
  type Wrong = {
    [P in Point]: {
      [K in keyof Decisions]: Equal<
        Decisions[K] extends May<P> ? true : false,
        K extends Table[P]['decisions'][number] ? true : false
      > extends true
        ? never
        : `${P} ${K}`
    }[keyof Decisions]
  }[Point]
  holdsEverywhere<Wrong>()
})

test('nor does a decision with fields that the point does not take', () => {
  // @ts-expect-error on_permission judges arguments, it does not change them
  defineMiddleware({ name: 'x', on_permission: () => allow({ args: {} }) })
  // @ts-expect-error a note goes beside a call's result
  defineMiddleware({ name: 'x', before_run: () => allow({ context: 'x' }) })
  // @ts-expect-error the answer in the human's place has no note
  defineMiddleware({ name: 'x', on_permission_request: () => allow({ context: 'x' }) })
  // @ts-expect-error a number is no answer of a run
  defineMiddleware({ name: 'x', before_run: () => replace_result(1) })
  // @ts-expect-error nor of a step
  defineMiddleware({ name: 'x', before_llm_step: () => replace_result({ text: 'x' }) })
  // @ts-expect-error a step is a whole step
  defineMiddleware({ name: 'x', around_llm_step: () => ({ text: 'x' }) })
  // @ts-expect-error in an async hook either
  defineMiddleware({ name: 'x', after_tool: async () => deny('x') })
  defineMiddleware({ name: 'x', before_tool: () => replace_result({ any: 'value' }) })
})

test('what is read-only does not compile as an assignment', () => {
  defineMiddleware({
    name: 'x',
    before_tool(ctx, next) {
      // @ts-expect-error
      ctx.toolName = 'x'
      // @ts-expect-error what is handed out is frozen
      ctx.toolCall.callId = 'x'
      // @ts-expect-error
      ctx.metadata = {}
      // @ts-expect-error
      ctx.signal = new AbortController().signal
      return next()
    },
    on_permission(ctx, next) {
      // @ts-expect-error
      ctx.args = {}
      return next()
    },
    async after_tool(ctx, next) {
      const result = await next()
      // @ts-expect-error
      result.isError = true
      // @ts-expect-error
      ctx.result.content.push({ type: 'text', text: 'x' })
      return result
    },
    on_event(ctx, next) {
      // @ts-expect-error
      ctx.event = {} as AgentEvent
      return next()
    },
  })
})

test('metadata is unknown to a layer that does not say what it needs', () => {
  defineMiddleware({
    name: 'x',
    before_run(ctx, next) {
      expectTypeOf(ctx.metadata).toBeUnknown()
      // @ts-expect-error
      void ctx.metadata.user
      return next()
    },
  })
  expectTypeOf<Ctx<'before_run', { user: string }>['metadata']>().toEqualTypeOf<{ user: string }>()
})

test('a hook name that does not exist does not compile', () => {
  // @ts-expect-error
  defineMiddleware({ name: 'x', before_tol: () => {} })
  const agent = {} as Agent
  // @ts-expect-error
  agent.use({ name: 'x', before_tol: () => {} })
})
