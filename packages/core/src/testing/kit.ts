import { expect } from 'vitest'
import type { Agent, AgentEvent, EventType, Input, Message, Middleware, Point, RunOptions, RunResult } from '@koagent/core'
import { points } from '../hooks.ts'
import { inspect } from '../session/pairs.ts'

/** The two ways to run an agent. Every behaviour holds in both. */
export const modes = ['run', 'stream'] as const
export type Mode = (typeof modes)[number]

/** What a run came to: its result or what it threw, and the events as a layer saw them (run) or as a consumer got them (stream). */
export interface Outcome {
  readonly result?: RunResult
  readonly error?: unknown
  readonly events: readonly AgentEvent[]
}

/** Runs an agent to its end in one of the modes; never throws. */
export async function execute(mode: Mode, agent: Agent, input: Input = 'go', options: RunOptions = {}): Promise<Outcome> {
  const events: AgentEvent[] = []
  try {
    if (mode === 'run') {
      const spy: Middleware = { name: 'test-spy', on_event: (ctx, next) => (events.push(ctx.event), next()) }
      return { result: await agent.run(input, { ...options, middleware: [...(options.middleware ?? []), spy] }), events }
    }
    const run = agent.stream(input, options)
    for await (const event of run) events.push(event)
    return { result: await run.result, events }
  } catch (error) {
    return { error, events }
  }
}

/** What the events of each run must look like, however it ended, and the session after it. */
export function expectWhole({ events }: Outcome, messages: readonly Message[] = []): void {
  const types = events.map((event) => event.type)
  expect(types[0]).toBe('run_begin')
  expect(types.at(-1)).toBe('run_end')
  expect(types.filter((type) => type === 'run_end')).toHaveLength(1)
  expectBalanced(events, 'turn_begin', 'turn_end', (event) => event.turn)
  expectBalanced(events, 'step_begin', 'step_end', (event) => event.turn)
  expectBalanced(events, 'tool_call_begin', 'tool_result', (event) => ('callId' in event ? event.callId : ''))
  expect(inspect(messages).problem).toBeUndefined()
}

/** Every begin has its one end, after it. */
function expectBalanced(
  events: readonly AgentEvent[],
  begin: EventType,
  end: EventType,
  key: (event: AgentEvent) => unknown,
): void {
  const open = new Set<unknown>()
  for (const event of events) {
    if (event.type === begin) {
      expect(open.has(key(event))).toBe(false)
      open.add(key(event))
    }
    if (event.type === end) expect(open.delete(key(event))).toBe(true)
  }
  expect([...open]).toEqual([])
}

/** A middleware with a hook at every point, that writes down when it is entered (`>name:point`) and left (`<name:point`). */
export function recorder(name: string, trace: string[]): Middleware {
  const hook =
    (point: Point) =>
    async (_ctx: unknown, next: () => Promise<never>): Promise<never> => {
      trace.push(`>${name}:${point}`)
      try {
        return await next()
      } finally {
        trace.push(`<${name}:${point}`)
      }
    }
  const hooks = Object.fromEntries(points.filter((point) => point !== 'on_event').map((point) => [point, hook(point)]))
  return { name, ...hooks }
}
