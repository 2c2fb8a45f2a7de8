import { Agent, defineTool, memorySession, onEvents } from '@koagent/core'
import type { AgentEvent, Message } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { fakeProvider } from './fake/fake.ts'
import type { FakeStep } from './fake/fake.ts'
import { adapters } from './testing/adapters.ts'
import type { Adapter } from './testing/adapters.ts'

const usage = { inputTokens: 20, outputTokens: 9, cachedInputTokens: 4, reasoningTokens: 3 }
const answers: readonly FakeStep[] = [
  {
    reasoning: 'Two cities, so two calls.',
    text: 'I will ask for both.',
    toolCalls: [
      { name: 'weather', args: { city: 'Łódź' } },
      { name: 'weather', args: { city: 'Oslo' } },
    ],
    usage,
  },
  { toolCalls: [{ name: 'now' }], usage },
  { reasoning: 'That is all.', text: 'It is warm in both, at noon.', usage },
]
const tools = [
  defineTool({
    name: 'weather',
    description: 'Tells the weather.',
    input: z.object({ city: z.string() }),
    execute: ({ city }) => `warm in ${city}`,
  }),
  defineTool({ name: 'now', description: 'Tells the time.', input: z.object({}), execute: () => 'noon' }),
]

const types = [
  ...(['run_begin', 'turn_begin', 'step_begin', 'reasoning_delta', 'text_delta', 'tool_args_delta', 'step_end'] as const),
  ...(['tool_call_begin', 'tool_result', 'turn_end', 'step_reset', 'retry', 'error', 'run_end'] as const),
] as const

interface Heard {
  readonly events: readonly AgentEvent[]
  readonly messages: readonly Message[]
}

async function run({ modelAt }: Adapter, mode: 'run' | 'stream'): Promise<Heard> {
  const provider = await fakeProvider(answers)
  const session = memorySession()
  const events: AgentEvent[] = []
  const agent = new Agent({ model: modelAt(provider), tools, instructions: 'Be brief.' })
  try {
    if (mode === 'stream') for await (const event of agent.stream('How is it?', { session })) events.push(event)
    else {
      const ears = { name: 'ears', on_event: onEvents(types, (event) => void events.push(event)) }
      await agent.run('How is it?', { session, middleware: [ears] })
    }
  } finally {
    await provider.close()
  }
  return { events, messages: session.messages }
}

/** An event without what only its provider decides: the names of messages and calls become their places. */
function outline({ events }: Heard): readonly object[] {
  const places = new Map<string, number>()
  const place = (id: unknown): number | undefined => {
    if (typeof id !== 'string') return undefined
    if (!places.has(id)) places.set(id, places.size)
    return places.get(id)
  }
  return events.map((event) => {
    const { type, turn, path } = event
    const { id, stepId, attempt, callId, messageId, toolName, blockId, text, delta, status }: Record<string, unknown> = {
      ...event,
    }
    const ids = { id: place(id), call: place(callId), message: place(messageId), blockId }
    return { type, turn, path, stepId, attempt, toolName, text, delta, status, ...ids }
  })
}

/** The messages without ids and opaque data. */
function plain({ messages }: Heard): unknown {
  const own = new Set(['callId', 'provider', 'model', 'providerData'])
  return JSON.parse(JSON.stringify(messages, (key, value: unknown) => (own.has(key) ? undefined : value)))
}

describe('a run of three turns', () => {
  test.for((['run', 'stream'] as const).flatMap((mode) => adapters.map((adapter) => ({ mode, adapter, name: adapter.name }))))(
    'gives the same events and the same history over $name ($mode)',
    async ({ mode, adapter }) => {
      const [first] = adapters
      if (!first) throw new Error('no adapters')
      const [heard, standard] = [await run(adapter, mode), await run(first, 'stream')]
      expect(outline(heard)).toEqual(outline(standard))
      expect(plain(heard)).toEqual(plain(standard))
      expect(heard.events.filter(({ type }) => type === 'tool_result')).toHaveLength(3)
      expect(heard.events.at(-1)).toMatchObject({ type: 'run_end', status: 'completed' })
      const steps = heard.events.filter((event) => event.type === 'step_end')
      expect(steps.map((step) => step.usage)).toMatchObject(answers.map((answer) => answer.usage))
    },
  )
})
