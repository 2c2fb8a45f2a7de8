import { expect } from 'vitest'
import { z } from 'zod'
import { Agent, defineTool, memorySession, textOf } from '@koagent/core'
import type {
  AnyMiddleware,
  EventOf,
  EventType,
  Input,
  JsonObject,
  RunOptions,
  Session,
  Tool,
  ToolCtx,
  ToolOptions,
  ToolResultEvent,
  ToolResultPart,
  ToolStatus,
} from '@koagent/core'
import type { AgentOptions } from '../agent.ts'
import { scripted } from '../scripted.ts'
import type { Script, ScriptedCall, ScriptedModel } from '../scripted.ts'
import { execute, expectWhole } from './kit.ts'
import type { Mode, Outcome } from './kit.ts'

/** A run in which the model makes these calls in one step and then, if asked again, answers 'done'. */
export interface Calls {
  /** Names or whole calls. */
  readonly calls: readonly (string | ScriptedCall)[]
  readonly tools?: readonly Tool[]
  /** The agent's layers. */
  readonly middleware?: readonly AnyMiddleware[]
  readonly agent?: Partial<AgentOptions>
  readonly run?: RunOptions
  /** In place of the last answer. */
  readonly next?: readonly Script[]
  readonly input?: Input
}

/** What came of it. */
export interface Called extends Outcome {
  readonly session: Session
  readonly model: ScriptedModel
  /** The stored results, in the order in which they stand. */
  readonly results: readonly ToolResultPart[]
  /** Their texts, without what layers added. */
  readonly texts: readonly string[]
  /** Status by call id, from the events. */
  readonly status: Readonly<Record<string, ToolStatus>>
  /** Ids in the order in which the results were told. */
  readonly told: readonly string[]
  of<T extends EventType>(type: T): readonly EventOf<T>[]
}

/** Runs it, and checks what holds for every run: whole events, one result a call in call order, plain JSON. */
export async function callTools(
  mode: Mode,
  { calls, tools = [], middleware = [], agent, run = {}, next, input }: Calls,
): Promise<Called> {
  const toolCalls = calls.map((call, n) => ({ id: `c${n}`, ...(typeof call === 'string' ? { name: call } : call) }))
  const model = scripted([{ toolCalls }, ...(next ?? [{ text: 'done' }])])
  const session = run.session ?? memorySession()
  const before = session.messages.length
  const outcome = await execute(mode, new Agent({ model, tools, middleware: middleware as never, ...agent }), input, {
    ...run,
    session,
  })
  const { messages } = session
  expectWhole(outcome, messages)
  expect(JSON.parse(JSON.stringify(messages))).toEqual(messages)
  expect(JSON.parse(JSON.stringify(outcome.events))).toEqual(outcome.events)
  const results = messages.slice(before).flatMap((message) => (message.role === 'tool' ? message.content : []))
  const told = outcome.events.filter((event): event is ToolResultEvent => event.type === 'tool_result')
  for (const { callId } of results) expect(told.filter((event) => event.callId === callId)).toHaveLength(1)
  return {
    ...outcome,
    session,
    model,
    results,
    texts: results.map(textOf),
    status: Object.fromEntries(told.map((event) => [event.callId, event.status])),
    told: told.map((event) => event.callId),
    of: (type) => outcome.events.filter((event) => event.type === type) as never,
  }
}

/** A tool that takes any object. */
export function tool(
  name: string,
  run: (args: JsonObject, ctx: ToolCtx) => unknown = () => `${name} ran`,
  options: Partial<Omit<ToolOptions<JsonObject>, 'name' | 'execute'>> = {},
): Tool {
  return defineTool({
    description: name,
    ...(options as object),
    name,
    input: z.looseObject({}),
    execute: (args, ctx) => run(args as JsonObject, ctx),
  })
}

/** A promise that the test settles. */
export interface Deferred<T = unknown> {
  readonly promise: Promise<T>
  resolve(value: T): void
  reject(error: unknown): void
}

export function deferred<T = unknown>(): Deferred<T> {
  let resolve: (value: T) => void = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<T>((yes, no) => {
    resolve = yes
    reject = no
  })
  return { promise, resolve, reject }
}

/** Lets everything that can go on without a timer go on. */
export async function settled(): Promise<void> {
  for (let n = 0; n < 5; n++) await new Promise((resolve) => setImmediate(resolve))
}
