import { Agent, defineMiddleware, defineTool, ModelError, retry } from '@koagent/core'
import type { AgentEvent, Model, RunResult } from '@koagent/core'
import type { Script } from '@koagent/core/scripted'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { memoryCassette, record, replay } from './cassette.ts'
import { named, written } from './testing/tape.ts'

const token = `ghp_${'aB3'.repeat(12)}`

interface Outcome {
  readonly result?: Partial<RunResult>
  readonly error?: unknown
  readonly events: readonly unknown[]
}

const modes = {
  async run(agent: Agent) {
    return agent.run('What is the weather in Rome?')
  },
  async stream(agent: Agent) {
    const run = agent.stream('What is the weather in Rome?')
    for await (const _ of run);
    return run.result
  },
}

/** Everything of a run that should be the same again. */
async function outcomeOf(mode: keyof typeof modes, model: Model, answer: string): Promise<Outcome> {
  const events: AgentEvent[] = []
  const weather = defineTool({
    name: 'weather',
    description: 'The weather in a city',
    input: z.object({ city: z.string() }),
    execute: ({ city }) => ({ city, answer, n: 1 }),
  })
  const again = defineMiddleware({
    name: 'again',
    on_error: (ctx, next) => (ctx.error instanceof ModelError && ctx.error.retryable ? retry() : next()),
    on_event: (ctx, next) => (events.push(ctx.event), next()),
  })
  const agent = new Agent({ name: 'a', model, tools: [weather], middleware: [again] })
  const timeless = (): unknown[] =>
    events.map((event) => JSON.parse(JSON.stringify({ ...event, id: 0, runId: 0, durationMs: 0 })) as unknown)
  try {
    const { text, status, messages, usage, turns } = await modes[mode](agent)
    return { result: { text, status, messages, usage, turns }, events: timeless() }
  } catch (error) {
    return { error, events: timeless() }
  }
}

const usage = { inputTokens: 7, outputTokens: 3, cachedInputTokens: 2 }
const busy = new ModelError('busy, come back', { code: 'busy', status: 429, retryable: true, retryAfterMs: 0, provider: 'acme' })

const scripts = {
  'with tools and reasoning': [
    {
      reasoning: 'Two cities.',
      text: 'Let me see.',
      toolCalls: [
        { name: 'weather', args: { city: 'Rome' } },
        { name: 'weather', args: { city: 'Oslo' }, id: '' },
        { name: 'weather', args: 'no JSON' },
      ],
      usage,
    },
    { text: 'It is warm in Rome.', usage },
  ],
  'with a failed attempt': [
    { parts: [{ type: 'text_delta', text: 'It' }], error: busy },
    { toolCalls: [{ name: 'weather', args: { city: 'Rome' } }] },
    { error: busy },
    { text: 'It is warm.' },
  ],
  'that is cut off and tried again': [{ parts: [{ type: 'text_delta', text: 'It is w' }] }, { text: 'It is warm.' }],
  'that fails': [
    { toolCalls: [{ name: 'weather', args: { city: 'Rome' } }] },
    {
      text: 'It',
      error: new ModelError('no credit', { code: 'quota', status: 402, retryable: false, requestId: 'r1', provider: 'acme' }),
    },
  ],
  'with opaque data': [
    {
      parts: [
        { type: 'reasoning_delta', text: 'Hm', blockId: 'b' },
        { type: 'reasoning_end', blockId: 'b', providerData: { signature: 'c2lnbmVk' } },
        { type: 'text_delta', text: 'First. ' },
        { type: 'text_end', providerData: [1] },
        { type: 'tool_call', callId: 'x', toolName: 'weather', args: { city: 'Rome' }, providerData: 'opaque' },
        { type: 'finish', reason: 'tool_calls', rawReason: 'tools', providerData: { id: 'resp_1' } },
      ],
    },
    { text: 'Done.' },
  ],
} satisfies Record<string, readonly Script[]>

describe.each(['run', 'stream'] as const)('a run (%s)', (mode) => {
  test.for(Object.entries(scripts))('%s is the same when it is replayed, also in the other mode', async ([, steps]) => {
    const store = memoryCassette()
    const live = await outcomeOf(mode, record(named('acme', 'm1', steps), store), 'warm')
    const plain = await outcomeOf(mode, named('acme', 'm1', steps), 'warm')
    expect(live).toEqual(plain)
    expect(await outcomeOf(mode, replay(store), 'warm')).toEqual(live)
    expect(await outcomeOf(mode === 'run' ? 'stream' : 'run', replay(store), 'warm')).toEqual(live)
  })

  test('with secrets in all its texts finds each of its answers again', async () => {
    const store = memoryCassette()
    const steps = [
      {
        reasoning: `The key is ${token.slice(0, 9)} ${token} .`,
        text: `I use ${token} now.`,
        toolCalls: [
          { name: 'weather', args: { city: token } },
          // No object, so that it is answered with an error that quotes it.
          { name: 'weather', args: '"AKIAIOSFODNN7EXAMPLE"' },
        ],
      },
      { error: new ModelError(`who is ${token}?`, { retryable: true }) },
      { toolCalls: [{ name: 'weather', args: { city: 'Rome', password: 'hunter2' } }] },
      { text: 'It is warm.' },
    ]
    const live = await outcomeOf(mode, record(named('acme', 'm1', steps), store), `warm, ${token}`)
    expect(live.result?.text).toBe('It is warm.')
    expect(store.lines()).toHaveLength(5)
    expect(written(store)).not.toContain(token)
    expect(written(store)).not.toContain('hunter2')
    const replayed = await outcomeOf(mode, replay(store), `warm, ${token}`)
    expect(replayed.error).toBeUndefined()
    expect(replayed.result).toMatchObject({ text: 'It is warm.', turns: live.result?.turns, usage: live.result?.usage })
    expect(JSON.stringify(replayed.events)).toContain('I use [scrubbed] now.')
  })

  test('that goes another way fails with what is different', async () => {
    const store = memoryCassette()
    await outcomeOf(mode, record(named('acme', 'm1', scripts['with tools and reasoning']), store), 'warm')
    const { error } = await outcomeOf(mode, replay(store), 'cold')
    expect(error).toMatchObject({ code: 'cassette_miss' })
    expect((error as Error).message.split('\n')[1]).toBe(
      String.raw`  messages[2].content[0].content[0].text: recorded …"y\":\"Rome\",\"answer\":\"warm\",\"n\":1}", asked …"y\":\"Rome\",\"answer\":\"cold\",\"n\":1}"`,
    )
  })
})
