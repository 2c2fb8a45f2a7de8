import { getEventListeners } from 'node:events'
import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Agent, defineTool, memorySession, retry, RunController } from '@koagent/core'
import type { AgentEvent, Middleware, ModelPart } from '@koagent/core'
import { points } from '../hooks.ts'
import { scripted } from '../scripted.ts'
import type { ScriptedStep } from '../scripted.ts'
import { busy } from '../testing/ask.ts'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import type { Outcome } from '../testing/kit.ts'
import { layer, silent } from '../testing/stage.ts'

// To count timers: none has to fire here, since every layer and tool settles.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const input = { type: 'object' as const }
const tools = [
  defineTool({ name: 'quick', description: 'x', input, execute: () => 'done' }),
  defineTool({ name: 'slow', description: 'x', input, execute: async () => (await setImmediate(), 'done at last') }),
  defineTool({ name: 'alone', description: 'x', input, parallel: false, execute: async () => (await setImmediate(), 'done') }),
  defineTool({
    name: 'fails',
    description: 'x',
    input,
    execute: () => {
      throw new Error('out of order')
    },
  }),
  defineTool({
    name: 'tells',
    description: 'x',
    input,
    execute: async function* () {
      yield 1
      await setImmediate()
      yield 2
      return 'told'
    },
  }),
]

/** Notes each entry and exit, by what they belong to: calls of one step interleave. */
function watching(name: string, open: Map<string, string[]>, wrong: string[]): Middleware {
  return layer(
    name,
    points.filter((point) => point !== 'on_event'),
    async (ctx, next) => {
      const key = `${ctx.point} ${(ctx['toolCall'] as { callId: string } | undefined)?.callId ?? ''}`
      const stack = open.get(key) ?? []
      open.set(key, stack)
      stack.push(name)
      try {
        return await next()
      } finally {
        if (stack.pop() !== name) wrong.push(`${name} left ${key} before what is inside it`)
      }
    },
  )
}

const call = fc.constantFrom('quick', 'slow', 'alone', 'fails', 'tells', 'unknown')
const step = fc.record({
  text: fc.constantFrom('', 'one', 'one two three'),
  reasoning: fc.constantFrom('', 'hm'),
  calls: fc.array(call, { maxLength: 3 }),
  /** How often the step fails before it answers. */
  failures: fc.constantFrom(0, 0, 0, 1, 2),
})
const script = fc
  .array(step, { minLength: 1, maxLength: 3 })
  .map((steps) =>
    steps.flatMap(({ text, reasoning, calls, failures }): ScriptedStep[] => [
      ...Array.from({ length: failures }, () => ({ text, error: busy() })),
      { text, reasoning, toolCalls: calls.map((name) => ({ name })) },
    ]),
  )

const ways = ['controller', 'signal', 'break'] as const

describe('a run that is cut off at any event', () => {
  test.for(ways)('by %s is whole, its layers are left in order, and nothing stays behind', async (way) => {
    await fc.assert(
      fc.asyncProperty(script, fc.nat({ max: 60 }), fc.constantFrom(...modes), async (steps, at, mode) => {
        const open = new Map<string, string[]>()
        const wrong: string[] = []
        const outside = new AbortController()
        const controller = new RunController()
        const session = memorySession()
        let seen = 0
        const cuts: Middleware = {
          name: 'cuts',
          on_event: (_, next) => {
            if (seen++ === at) {
              if (way === 'signal') outside.abort('enough')
              if (way === 'controller') controller.cancel('enough')
            }
            return next()
          },
          on_error: (ctx, next) => (ctx.phase === 'llm_step' ? retry() : next()),
        }
        const agent = new Agent({
          model: scripted([...steps, { text: 'the end' }]),
          tools,
          middleware: [watching('outer', open, wrong), cuts, watching('inner', open, wrong)],
          logger: silent,
        })
        const options = { session, controller, signal: outside.signal }
        const outcome = way === 'break' ? await leave(agent, at, options) : await execute(mode, agent, 'go', options)

        expectWhole(outcome, session.messages)
        expect(wrong).toEqual([])
        expect([...open.values()].flat()).toEqual([])
        const isCut = outcome.error !== undefined
        if (isCut) expect(outcome.error).toMatchObject({ name: 'AbortError', result: { messages: session.messages } })
        else expect(outcome.result?.status).toBe('completed')
        expect(getEventListeners(outside.signal, 'abort')).toHaveLength(0)
        expect(controller.cancellation.waiting).toBe(0)
        expect(vi.getTimerCount()).toBe(0)
        const next = await new Agent({ model: scripted([{ text: 'fine' }]) }).run('again', { session })
        expect(next.text).toBe('fine')
      }),
      { numRuns: 60 },
    )
  })
})

/** Reads up to an event and leaves the loop there. What a consumer that left cannot see is taken to be in order. */
async function leave(agent: Agent, at: number, options: object): Promise<Outcome> {
  const run = agent.stream('go', options)
  const events: AgentEvent[] = []
  for await (const event of run) {
    events.push(event)
    if (events.length > at) break
  }
  const whole = [{ type: 'run_begin' }, { type: 'run_end' }] as AgentEvent[]
  try {
    return { result: await run.result, events: whole }
  } catch (error) {
    return { error, events: whole }
  }
}

const id = fc.constantFrom('', 'a', 'b')
const toolName = fc.constantFrom('quick', 'fails', 'unknown', 'fs.read', '')
const part: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({ type: fc.constant('text_delta'), text: fc.string({ maxLength: 4 }) }),
  fc.record({ type: fc.constant('reasoning_delta'), text: fc.string({ maxLength: 4 }), blockId: id }),
  fc.record(
    { type: fc.constant('reasoning_end'), blockId: id, providerData: fc.constantFrom('sig', undefined) },
    { requiredKeys: ['type'] },
  ),
  fc.record({ type: fc.constant('tool_call_delta'), callId: id, toolName, delta: fc.constantFrom('{', '}') }),
  fc.record({
    type: fc.constant('tool_call'),
    callId: id,
    toolName,
    args: fc.constantFrom('{}', '', '{"a":1}', '{"a', '[]', 'null', {}),
  }),
  fc.record({ type: fc.constant('usage'), usage: fc.constantFrom({ inputTokens: 1, outputTokens: 1 }, {}, null) }),
  fc.record({
    type: fc.constant('finish'),
    reason: fc.constantFrom('stop', 'tool_calls', 'length', 'content_filter', 'error', 'other'),
  }),
  fc.record({ type: fc.constant('raw'), value: fc.anything() }),
  { arbitrary: fc.anything(), weight: 1 },
)
const stream = fc.record({
  parts: fc.array(part, { maxLength: 8 }),
  isFinished: fc.boolean(),
  fails: fc.constantFrom(false, false, true),
})

test.for(modes)('whatever models send, the session is one that a provider accepts (%s)', async (mode) => {
  await fc.assert(
    fc.asyncProperty(fc.array(stream, { minLength: 1, maxLength: 3 }), fc.boolean(), async (streams, isPatient) => {
      const model = scripted(
        streams.map(({ parts, isFinished, fails }): ScriptedStep => ({
          parts: [...parts, ...(isFinished ? [{ type: 'finish', reason: 'stop' }] : [])] as ModelPart[],
          ...(fails && { error: busy() }),
        })),
      )
      const session = memorySession()
      const patient: Middleware = { name: 'patient', on_error: (_, next) => (isPatient ? retry() : next()) }
      const outcome = await execute(mode, new Agent({ model, tools, middleware: [patient], logger: silent }), 'go', { session })
      expectWhole(outcome, session.messages)
      if (outcome.error) expect(outcome.error).toBeInstanceOf(Error)
      // A second session takes it as it is, and a next run goes on from it.
      memorySession({ messages: session.messages })
      const next = await new Agent({ model: scripted([{ text: 'fine' }]) }).run('again', { session })
      expect(next.text).toBe('fine')
    }),
    { numRuns: 150 },
  )
})
