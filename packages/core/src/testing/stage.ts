import { expect } from 'vitest'
import { Agent, allow, ask, defineTool } from '@koagent/core'
import type {
  AgentOptions,
  AnyMiddleware,
  Context,
  EventOf,
  HookPoint,
  Logger,
  LLMStep,
  Middleware,
  Point,
  ToolResult,
} from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { hooks } from '../hooks.ts'
import { execute, expectWhole } from './kit.ts'
import type { Mode, Outcome } from './kit.ts'

/** A hook whose types do not depend on its point, for tests that go over all of them. */
export type AnyHook = (ctx: Context & Record<string, unknown>, next: () => Promise<unknown>) => unknown

/** A middleware with one and the same hook at these points. */
export function layer(name: string, at: Point | readonly Point[], hook: AnyHook, more: Partial<Middleware> = {}): Middleware {
  const points: readonly Point[] = typeof at === 'string' ? [at] : at
  return { name, ...Object.fromEntries(points.map((point) => [point, hook])), ...more }
}

export function kindOf(point: Point): HookPoint['kind'] {
  return hooks[point].kind
}

/** Tools of {@link stage}: one that works and one that does not. */
export const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: { type: 'object', properties: { path: { type: 'string' } } },
  // Its calls are asked about, and only an idempotent one is tried again after a yes.
  idempotent: true,
  execute: ({ path }) => `looked at ${String(path)}`,
})
export const broken = defineTool({
  name: 'broken',
  description: 'Fails.',
  input: { type: 'object' },
  execute: () => {
    throw new Error('out of order')
  },
})

/** The logger of {@link stage} where none is given: tests that care about the log bring their own. */
export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {} }

/**
 * An agent whose run passes every hook point: a turn with a call that is asked about, one with a call that
 * fails, and one that answers. A layer outside all others asks, and says yes unless a layer further in says no.
 */
export function stage(middleware: readonly AnyMiddleware[] = [], options: Partial<AgentOptions> = {}): Agent {
  const asker: Middleware = {
    name: 'asker',
    on_permission: (ctx, next) => (ctx.toolName === 'look' ? ask('may it look?') : next()),
    on_permission_request: async (_ctx, next) => (await next()) ?? allow(),
  }
  const model = scripted(
    Array.from({ length: 60 }, () => ({ messages }) => {
      const answered = messages.filter((message) => message.role === 'tool').length
      if (answered === 0) return { text: 'I will look', toolCalls: [{ name: 'look', args: { path: 'a' } }] }
      return answered === 1 ? { toolCalls: [{ name: 'broken' }] } : { text: 'all done' }
    }),
  )
  return new Agent({
    model,
    tools: [look, broken],
    logger: silent,
    ...options,
    middleware: [asker, ...(middleware as readonly Middleware[])],
  })
}

/** A value that an around or after point passes on, of a layer's own making. */
export function valueAt(point: Point, text = 'of a layer'): unknown {
  switch (point) {
    case 'around_run':
    case 'after_run':
      return { runId: 'r', status: 'completed', text, messages: [], usage: { inputTokens: 0, outputTokens: 0 }, turns: 1 }
    case 'after_turn':
      return { turn: 0, status: 'completed', toolResults: [] }
    case 'around_llm_step':
    case 'after_llm_step':
      return {
        message: { role: 'assistant', content: [{ type: 'text', text }] },
        toolCalls: [],
        finishReason: 'stop',
        usage: { inputTokens: 0, outputTokens: 0 },
      } satisfies LLMStep
    default:
      return { content: [{ type: 'text', text }], isError: false } satisfies ToolResult
  }
}

/** What became of a layer's failure at a point: its error, and the `hook_error` events that told of it. */
export interface Failure extends Outcome {
  readonly failure: unknown
  readonly told: readonly EventOf<'hook_error'>[]
}

/**
 * Runs a {@link stage} in which a layer fails at a point, and checks that the failure comes to what it must: the run rejects; where the point fails
 * closed, the call is denied in the layer's name; at a session's end there is only the log.
 */
export async function fail(mode: Mode, point: Point, middleware: readonly AnyMiddleware[], culprit: string): Promise<Failure> {
  const logged: unknown[] = []
  const logger = { ...silent, error: (...data: unknown[]) => void logged.push(...data) }
  const outcome = await execute(mode, stage(middleware, { logger }))
  expectWhole(outcome)
  const told = outcome.events.filter((event) => event.type === 'hook_error')
  let failure = outcome.error
  if (hooks[point as 'on_permission'].failClosed) {
    expect(outcome.result?.status).toBe('completed')
    expect(outcome.events).toContainEqual(expect.objectContaining({ type: 'tool_result', status: 'denied', by: culprit }))
    failure = told[0]?.error
  } else if (point === 'on_session_end') {
    expect(outcome.result?.status).toBe('completed')
    failure = logged.find((value) => value instanceof Error)
  } else expect(outcome.result).toBeUndefined()
  // What is caused while an event is under way skips on_event, by which a run's events are collected.
  if (point !== 'on_session_end' && (mode === 'stream' || point !== 'on_event'))
    expect(told[0]).toMatchObject({ middleware: culprit, point, error: { middleware: culprit, point } })
  return { ...outcome, failure, told }
}

/** What is the same in two like runs: events and result without ids, counts and durations, and what was thrown. */
export function comparable({ events, result, error }: Outcome, without: readonly string[] = []): unknown {
  const strip = (value: object): unknown =>
    JSON.parse(
      JSON.stringify(value, (key, field: unknown) => (['id', 'seq', 'runId', 'durationMs'].includes(key) ? undefined : field)),
    )
  return {
    events: events.filter((event) => !without.includes(event.type)).map(strip),
    result: result && strip(result),
    error: error instanceof Error ? `${error.name}: ${error.message}` : error,
  }
}
