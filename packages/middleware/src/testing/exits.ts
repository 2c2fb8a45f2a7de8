import { Agent, defineTool, deny, replace_result, retry, RunController, stop } from '@koagent/core'
import type { AgentEvent, Logger, Middleware, RunResult, RunStatus, Tool, ToolStatus } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import type { ScriptedStep } from '@koagent/core/scripted'
import { z } from 'zod'

/** The two ways to run an agent. Every behaviour holds in both. */
export const modes = ['run', 'stream'] as const
export type Mode = (typeof modes)[number]

/** One way in which a tool call, or the run around it, can end. */
export interface Exit {
  readonly name: string
  /** What the first call's `tool_result` says; undefined where no call was made. */
  readonly status?: ToolStatus
  /** How the run ends. Default 'completed'. */
  readonly ends?: RunStatus
  /** What the model does. Default: calls the tool, then answers. */
  readonly script?: readonly ScriptedStep[]
  /** What the tool does. Default: returns 'done'. */
  readonly execute?: Tool['execute']
  readonly timeoutMs?: number
  /** The layer that makes the call end so; it stands inside those under test. */
  readonly layer?: Middleware
  /** The caller stops the run once the call has been announced: leaves the loop of a stream, cancels otherwise. */
  readonly leaves?: boolean
  readonly maxTurns?: number
}

const call = (args: object = { text: 'hello' }, name = 'work'): ScriptedStep => ({
  toolCalls: [{ name, args: { ...args }, id: 'call_1' }],
})
const answer: ScriptedStep = { text: 'All done.' }
const fail = (message: string) => (): never => {
  throw new Error(message)
}
const forEver = (): Promise<never> => new Promise(() => {})
const untilAborted: Tool['execute'] = (_args, { signal }) =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }))

/** Every way out of a tool call and of a run that made one. What must hold "however it ends" is tested over this table. */
export const exits: readonly Exit[] = [
  { name: 'ok', status: 'ok' },
  { name: 'thrown by the tool', status: 'error', execute: fail('no such file') },
  { name: 'timed out', status: 'error', execute: forEver, timeoutMs: 5 },
  { name: 'invalid', status: 'invalid', script: [call({ text: 1 }), answer] },
  { name: 'to an unknown tool', status: 'invalid', script: [call({}, 'play'), answer] },
  { name: 'cut off at the length limit', status: 'error', script: [{ ...call(), finishReason: 'length' }, answer] },
  { name: 'denied', status: 'denied', layer: { name: 'rule', on_permission: () => deny('not here') } },
  { name: 'denied by a rule that fails', status: 'denied', layer: { name: 'rule', on_permission: fail('the rule is broken') } },
  {
    name: 'asked about, with nobody to ask',
    status: 'denied',
    layer: { name: 'asker', before_tool: () => ({ kind: 'ask', reason: 'sure?' }) },
  },
  { name: 'blocked', status: 'blocked', layer: { name: 'guard', before_tool: () => deny('not now') } },
  { name: 'stopped', status: 'blocked', ends: 'stopped', layer: { name: 'budget', before_tool: () => stop('enough') } },
  { name: 'replaced', status: 'replaced', layer: { name: 'cache', before_tool: () => replace_result('from the cache') } },
  {
    name: 'tried again',
    status: 'ok',
    layer: { name: 'retry', after_tool: (ctx, next) => (ctx.result.isError ? retry() : next()) },
    execute: failOnce(),
  },
  { name: 'withheld', status: 'withheld', ends: 'failed', layer: { name: 'redact', after_tool: fail('cannot redact') } },
  { name: 'failed by its gate', status: 'error', ends: 'failed', layer: { name: 'paths', before_tool: fail('cannot judge') } },
  { name: 'cancelled', status: 'cancelled', ends: 'cancelled', execute: untilAborted, leaves: true },
  { name: 'cancelled and deaf', status: 'cancelled', ends: 'cancelled', execute: forEver, leaves: true },
  {
    name: 'cancelled within',
    status: 'cancelled',
    ends: 'cancelled',
    layer: { name: 'canceller', around_tool: (ctx, next) => (ctx.controller.cancel('from within'), next()) },
  },
  { name: 'the last that the turn limit allows', status: 'ok', ends: 'max_turns', maxTurns: 1 },
  {
    name: 'followed by a model error',
    status: 'ok',
    ends: 'failed',
    script: [call(), { text: 'Well,', error: new Error('overloaded') }],
  },
  { name: 'not made: a model error', ends: 'failed', script: [{ error: new Error('overloaded') }] },
  { name: 'not made: a denied run', ends: 'denied', layer: { name: 'closed', before_run: () => deny('closed today') } },
]

function failOnce(): Tool['execute'] {
  const seen = new Set<string>()
  return (_args, { runId }) => {
    if (seen.has(runId)) return 'done'
    seen.add(runId)
    throw new Error('not yet')
  }
}

/** What a run came to, and its events. */
export interface Outcome {
  readonly result?: RunResult
  readonly error?: unknown
  readonly events: readonly AgentEvent[]
  /** What went to the run's logger: level and data. */
  readonly logged: readonly (readonly [level: keyof Logger, ...data: unknown[]])[]
  /** The first call's status, and the run's. */
  readonly status: ToolStatus | undefined
  readonly ended: RunStatus | undefined
}

/** Takes this exit, in this mode, through the layers under test. It never throws. */
export async function take(exit: Exit, mode: Mode, ...underTest: readonly Middleware[]): Promise<Outcome> {
  const { script = [call(), answer], execute = () => 'done', timeoutMs, layer, leaves = false, maxTurns = 20 } = exit
  const tool = defineTool({
    name: 'work',
    description: 'Works.',
    input: z.object({ text: z.string() }),
    execute,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  })
  const logged: [keyof Logger, ...unknown[]][] = []
  const agent = new Agent({
    model: scripted(script),
    tools: [tool],
    middleware: [...underTest, ...(layer ? [layer] : [])],
    maxTurns,
    logger: {
      debug: (...data) => logged.push(['debug', ...data]),
      info: (...data) => logged.push(['info', ...data]),
      warn: (...data) => logged.push(['warn', ...data]),
      error: (...data) => logged.push(['error', ...data]),
    },
  })
  const events: AgentEvent[] = []
  const end = await (mode === 'run' ? runWhole(agent, events, leaves) : streamWhole(agent, events, leaves))
  const status = events.find((event) => event.type === 'tool_result')?.status
  const ended = events.find((event) => event.type === 'run_end')?.status
  return { ...end, events, logged, status, ended }
}

type End = Pick<Outcome, 'result' | 'error'>

async function runWhole(agent: Agent, events: AgentEvent[], leaves: boolean): Promise<End> {
  const controller = new RunController()
  const spy: Middleware = {
    name: 'spy',
    on_event(ctx, next) {
      events.push(ctx.event)
      if (leaves && ctx.event.type === 'tool_call_begin') setTimeout(() => controller.cancel('left'))
      return next()
    },
  }
  try {
    return { result: await agent.run('go', { controller, middleware: [spy] }) }
  } catch (error) {
    return { error }
  }
}

async function streamWhole(agent: Agent, events: AgentEvent[], leaves: boolean): Promise<End> {
  // What comes after a consumer has left is seen by layers only.
  const spy: Middleware = { name: 'spy', on_event: (ctx, next) => (events.push(ctx.event), next()) }
  const run = agent.stream('go', { middleware: [spy] })
  try {
    for await (const event of run) {
      if (!leaves || event.type !== 'tool_call_begin') continue
      await new Promise((resolve) => setTimeout(resolve))
      break
    }
    return { result: await run.result }
  } catch (error) {
    return { error }
  }
}
