import { assert, describe, expect, test } from 'vitest'
import { Agent, allow, continue_run, defineTool, deny, memorySession, RunController, replace_result, stop } from '@koagent/core'
import type { AgentEvent, Middleware, Point, RunOptions, RunResult, RunStatus, TurnResult } from '@koagent/core'
import { scripted } from '../scripted.ts'
import type { ScriptedStep } from '../scripted.ts'
import { execute, expectWhole, modes, recorder } from '../testing/kit.ts'

const work = defineTool({
  name: 'work',
  description: 'Works.',
  input: { type: 'object' },
  execute: () => 'done',
})
const call: ScriptedStep = { text: 'I will', toolCalls: [{ name: 'work' }] }
const answer: ScriptedStep = { text: 'the answer' }
const boom = new Error('boom')
const fail = (): never => {
  throw boom
}

interface Exit {
  readonly name: string
  readonly layer: Omit<Middleware, 'name'>
  readonly script?: readonly ScriptedStep[]
  readonly options?: () => RunOptions
  readonly status: RunStatus
  readonly text?: string
  readonly reason?: string
  readonly turns?: number
  /** The last turn's status, where a turn was entered. */
  readonly turn?: TurnResult['status']
  /** Roles that the run added to the session, as initials. */
  readonly added: string
  /** Points of this run that must be silent. */
  readonly silent?: readonly Point[]
}

const exits: readonly Exit[] = [
  { name: 'completed', layer: {}, status: 'completed', text: 'the answer', turns: 2, turn: 'completed', added: 'uata' },
  {
    name: 'denied at before_run',
    layer: { before_run: () => deny('no') },
    status: 'denied',
    text: 'no',
    reason: 'no',
    turns: 0,
    added: '',
    silent: ['around_run', 'on_input', 'before_turn', 'on_stop'],
  },
  {
    name: 'denied at on_input',
    layer: { on_input: () => deny('no') },
    status: 'denied',
    text: 'no',
    reason: 'no',
    turns: 0,
    added: '',
    silent: ['before_turn', 'on_stop'],
  },
  {
    name: 'denied at before_turn',
    layer: { before_turn: () => deny('no') },
    status: 'denied',
    text: 'no',
    turns: 0,
    turn: 'denied',
    added: 'u',
    silent: ['before_llm_step', 'on_stop'],
  },
  {
    name: 'denied at before_llm_step',
    layer: { before_llm_step: () => deny('no') },
    status: 'denied',
    text: 'no',
    turns: 1,
    turn: 'denied',
    added: 'u',
    silent: ['around_llm_step', 'after_llm_step', 'on_stop'],
  },
  {
    name: 'denied at before_llm_step of a later turn',
    layer: { before_llm_step: (ctx, next) => (ctx.turn === 1 ? deny('no') : next()) },
    status: 'denied',
    text: 'no',
    turns: 2,
    turn: 'denied',
    added: 'uat',
    silent: ['on_stop'],
  },
  {
    name: 'replaced at before_run',
    layer: { before_run: () => replace_result('instead') },
    status: 'completed',
    text: 'instead',
    turns: 0,
    added: 'ua',
    silent: ['before_turn', 'on_stop'],
  },
  {
    name: 'replaced at before_turn',
    layer: { before_turn: () => replace_result([{ type: 'text', text: 'instead' }]) },
    status: 'completed',
    text: 'instead',
    turns: 0,
    turn: 'completed',
    added: 'ua',
    silent: ['before_llm_step', 'on_stop'],
  },
  {
    name: 'replaced at before_llm_step',
    layer: { before_llm_step: () => replace_result('instead') },
    status: 'completed',
    text: 'instead',
    turns: 1,
    turn: 'completed',
    added: 'ua',
  },
  {
    name: 'stopped at after_llm_step with calls open',
    layer: { after_llm_step: () => stop('enough') },
    status: 'stopped',
    reason: 'enough',
    text: 'I will',
    turns: 1,
    turn: 'stopped',
    added: 'uat',
    silent: ['on_permission', 'around_tool', 'on_stop'],
  },
  {
    name: 'stopped at after_llm_step without calls',
    layer: { after_llm_step: () => stop('enough') },
    script: [answer],
    status: 'stopped',
    text: 'the answer',
    turns: 1,
    turn: 'stopped',
    added: 'ua',
    silent: ['on_stop'],
  },
  {
    name: 'stopped at before_tool',
    layer: { before_tool: () => stop('enough') },
    status: 'stopped',
    turns: 1,
    turn: 'stopped',
    added: 'uat',
    silent: ['around_tool', 'after_tool', 'on_stop'],
  },
  {
    name: 'stopped at after_tool',
    layer: { after_tool: () => stop('enough') },
    status: 'stopped',
    turns: 1,
    turn: 'stopped',
    added: 'uat',
    silent: ['on_stop'],
  },
  {
    name: 'stopped at after_turn',
    layer: { after_turn: () => stop('enough') },
    status: 'stopped',
    turns: 1,
    // The hook that stops sees the turn as it was.
    turn: 'completed',
    added: 'uat',
    silent: ['on_stop'],
  },
  {
    name: 'stopped at on_stop',
    layer: { on_stop: () => stop('fine') },
    status: 'completed',
    text: 'the answer',
    turns: 2,
    turn: 'completed',
    added: 'uata',
  },
  {
    name: 'at its turn limit',
    layer: {},
    options: () => ({ maxTurns: 1 }),
    status: 'max_turns',
    text: 'I will',
    turns: 1,
    turn: 'completed',
    added: 'uat',
    silent: ['on_stop'],
  },
  {
    name: 'at a turn limit of none',
    layer: { before_run: (ctx, next) => ((ctx.maxTurns = 0), next()) },
    status: 'max_turns',
    text: '',
    turns: 0,
    added: 'u',
    silent: ['before_turn', 'on_stop'],
  },
  ...(
    [
      ['before_run', '', 0, undefined],
      ['around_run', '', 0, undefined],
      ['on_input', '', 0, undefined],
      ['before_turn', 'u', 0, 'failed'],
      ['before_llm_step', 'u', 1, 'failed'],
      ['around_llm_step', 'u', 1, 'failed'],
      ['before_tool', 'uat', 1, 'failed'],
      ['around_tool', 'uat', 1, 'failed'],
      ['after_tool', 'uat', 1, 'failed'],
      ['on_stop', 'uata', 2, 'completed'],
    ] as const
  ).map(([point, added, turns, turn]): Exit => ({
    name: `failed at ${point}`,
    layer: { [point]: fail },
    status: 'failed',
    reason: 'boom',
    added,
    turns,
    ...(turn && { turn }),
  })),
  { name: 'failed at after_turn', layer: { after_turn: fail }, status: 'failed', added: 'uat', turns: 1 },
  {
    name: 'failed by the model',
    layer: {},
    script: [{ error: boom }],
    status: 'failed',
    added: 'u',
    turns: 1,
    turn: 'failed',
    silent: ['after_llm_step'],
  },
  {
    name: 'failed by the model in mid-answer',
    layer: {},
    script: [{ text: 'so far', toolCalls: [{ name: 'work' }], error: boom }],
    status: 'failed',
    text: 'so far',
    added: 'uat',
    turns: 1,
    turn: 'failed',
    silent: ['after_llm_step', 'on_permission', 'around_tool'],
  },
  {
    name: 'failed by a layer that observes events',
    layer: { on_event: (ctx, next) => (ctx.event.type === 'step_end' ? next().then(fail) : next()) },
    status: 'failed',
    added: 'uat',
    turns: 1,
    turn: 'failed',
    silent: ['around_tool'],
  },
]

/** Runs an exit between two recorders, that see which results go out. */
async function leave(mode: 'run' | 'stream', { layer, script = [call, answer], options }: Exit) {
  const trace: string[] = []
  const seen: { turns: TurnResult[]; run?: RunResult; thrown?: unknown } = { turns: [] }
  const observer: Middleware = {
    name: 'observer',
    after_turn: async (ctx, next) => void seen.turns.push(await next().catch(() => ctx.result)),
    after_run: async (_, next) => void (seen.run = await next()),
    around_run: async (_, next) => {
      try {
        return await next()
      } catch (error) {
        seen.thrown = error
        throw error
      }
    },
  }
  const model = scripted([...script, { text: 'another run' }])
  const session = memorySession()
  const middleware = [recorder('outer', trace), observer, { name: 'culprit', ...layer }, recorder('inner', trace)]
  const controller = new RunController()
  const agent = new Agent({ model, tools: [work], logger: silent })
  const outcome = await execute(mode, agent.use(...middleware), 'go', { session, controller, ...options?.() })
  return { ...outcome, trace, seen, session, model, agent, controller }
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

/** Every entry has its exit, and the innermost is left first. Calls run side by side; there is one here, so that one stack tells. */
function expectNested(trace: readonly string[]): void {
  const open: string[] = []
  for (const entry of trace) {
    if (entry.startsWith('>')) open.push(entry.slice(1))
    else expect(entry.slice(1)).toBe(open.pop())
  }
  expect(open).toEqual([])
}

describe.for(exits)('a run that is $name', (exit) => {
  test.for(modes)('ends in order, and says how to all (%s)', async (mode) => {
    const { result, error, events, trace, seen, session, agent, controller } = await leave(mode, exit)
    const failed = exit.status === 'failed'
    expect(error).toBe(failed ? boom : undefined)
    const end = events.at(-1) as Extract<AgentEvent, { type: 'run_end' }>
    expect(end).toMatchObject({ type: 'run_end', status: exit.status })
    expect(events.filter(({ type }) => type === 'error')).toHaveLength(failed ? 1 : 0)
    if (failed) expect(events.at(-2)?.type).toBe('error')

    expectWhole({ events }, session.messages)
    expectNested(trace)
    for (const point of exit.silent ?? []) expect(trace).not.toContain(`>inner:${point}`)
    expect(trace).toContain('<outer:after_run')

    expect(seen.run).toMatchObject({ status: exit.status })
    const told = result ?? seen.run
    assert(told)
    for (const field of ['text', 'reason', 'turns'] as const)
      if (exit[field] !== undefined) expect({ [field]: told[field] }).toEqual({ [field]: exit[field] })
    expect(end).toMatchObject({ text: told.text, turns: told.turns, usage: told.usage })
    if (exit.turn) expect(seen.turns.at(-1)?.status).toBe(exit.turn)
    expect(trace.filter((entry) => entry === '>outer:after_turn')).toHaveLength(
      trace.filter((entry) => entry === '>outer:before_turn').length,
    )

    expect(session.messages).toEqual(told.messages)
    expect(session.messages.map(({ role }) => role[0]).join('')).toBe(exit.added)
    expect(controller.cancel()).toBe(false)
    expect(controller.cancelled).toBe(false)
    const next = await agent.run('again', { session }).catch((thrown: unknown) => thrown)
    expect(next).toMatchObject({ status: 'completed' })
  })
})

describe('a failed run', () => {
  const failing = [{ text: 'so far', error: boom }]

  test.for(modes)('shows its original error to around_run (%s)', async (mode) => {
    const { seen } = await leave(mode, { name: '', layer: {}, script: failing, status: 'failed', added: '' })
    expect(seen.thrown).toBe(boom)
  })

  test.for(modes)('may be replaced by a result that an around_run layer returns (%s)', async (mode) => {
    const rescued: RunResult = {
      runId: 'x',
      status: 'completed',
      text: 'rescued',
      messages: [],
      usage: { inputTokens: 0, outputTokens: 0 },
      turns: 1,
    }
    const layer: Exit['layer'] = { around_run: (_, next) => next().catch(() => rescued) }
    const { result, events, seen } = await leave(mode, { name: '', layer, script: failing, status: 'completed', added: '' })
    expect(result).toBe(rescued)
    expect(seen.run).toBe(rescued)
    expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'completed', text: 'rescued' })
    expect(events.some(({ type }) => type === 'error')).toBe(false)
  })

  test.for(modes)('stays failed whatever after_run makes of its result (%s)', async (mode) => {
    const layer: Exit['layer'] = { after_run: async (_, next) => ({ ...(await next()), status: 'completed', text: 'fine' }) }
    const { error, events } = await leave(mode, { name: '', layer, script: failing, status: 'failed', added: '' })
    expect(error).toBe(boom)
    expect(events.at(-1)).toMatchObject({ status: 'failed' })
  })
})

describe('after_run', () => {
  test.for(modes)('has the last word about a result (%s)', async (mode) => {
    const layer: Exit['layer'] = { after_run: async (_, next) => ({ ...(await next()), text: 'THE ANSWER' }) }
    const { result, events } = await leave(mode, { name: '', layer, status: 'completed', added: '' })
    expect(result?.text).toBe('THE ANSWER')
    expect(events.at(-1)).toMatchObject({ text: 'THE ANSWER' })
  })

  test.for(modes)('fails the run when it fails (%s)', async (mode) => {
    const { error, events } = await leave(mode, { name: '', layer: { after_run: fail }, status: 'failed', added: '' })
    expect(error).toBe(boom)
    expect(events.slice(-2)).toMatchObject([{ type: 'error' }, { type: 'run_end', status: 'failed' }])
  })
})

describe('a turn that failed', () => {
  test.for(modes)('shows after_turn the results that were stored (%s)', async (mode) => {
    const { seen, session } = await leave(mode, { name: '', layer: { after_tool: fail }, status: 'failed', added: '' })
    const stored = session.messages.at(-1)
    expect(stored?.role).toBe('tool')
    expect(seen.turns.at(-1)).toMatchObject({ message: { role: 'assistant' }, toolResults: stored?.content })
  })
})

describe('a decision that could not be carried out', () => {
  test.for(modes)('is the failure of the layer that made it (%s)', async (mode) => {
    for (const layer of [
      { before_run: () => replace_result(42 as never) },
      { before_turn: () => replace_result(42 as never) },
      { before_llm_step: () => replace_result(42 as never) },
      { on_stop: () => continue_run(42 as never) },
      { on_input: () => allow({ args: {} }) as never },
    ] satisfies Exit['layer'][]) {
      const { error, events, session } = await leave(mode, { name: '', layer, status: 'failed', added: '' })
      expect(error).toMatchObject({ code: 'hook_contract', middleware: 'culprit', point: Object.keys(layer)[0] })
      expectWhole({ events }, session.messages)
    }
  })
})
