import { createHook } from 'node:async_hooks'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, defineTool } from '@koagent/core'
import type { Message, Model, ModelPart } from '@koagent/core'

/** How many promises the work makes. Nothing else happens meanwhile: it waits for no timer and no network. */
async function promises(work: () => Promise<unknown>): Promise<number> {
  await work()
  let made = 0
  const hooks = createHook({ init: (_id, type) => void (type === 'PROMISE' && made++) }).enable()
  try {
    await work()
  } finally {
    hooks.disable()
  }
  return made
}

const usage: ModelPart = { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } }

/** Asks for the tool so many times, a call a turn, and then answers. */
function asking(turns: number): (messages: readonly Message[]) => AsyncGenerator<ModelPart> {
  return async function* stream(messages) {
    const turn = messages.filter(({ role }) => role === 'tool').length
    if (turn < turns) yield { type: 'tool_call', callId: `c${turn}`, toolName: 'add', args: '{"a":1,"b":2}' }
    else yield { type: 'text_delta', text: 'done' }
    yield usage
    yield { type: 'finish', reason: turn < turns ? 'tool_calls' : 'stop' }
  }
}

/** Answers in so many pieces. */
function talking(deltas: number): () => AsyncGenerator<ModelPart> {
  return async function* stream() {
    for (let i = 0; i < deltas; i++) yield { type: 'text_delta', text: 'word ' }
    yield usage
    yield { type: 'finish', reason: 'stop' }
  }
}

function model(stream: (messages: readonly Message[]) => AsyncIterable<ModelPart>): Model {
  return { provider: 'fake', id: 'fake', stream: ({ messages }) => stream(messages) }
}

async function read(parts: AsyncIterable<unknown>): Promise<number> {
  let count = 0
  for await (const _ of parts) count++
  return count
}

// An async_hooks listener sees two for each await of a promise: one of them V8 makes for the listener's sake.
test('a turn with a call costs no more than 22 promises besides those of the model', async () => {
  const add = defineTool({ name: 'add', description: '', input: z.object({ a: z.number(), b: z.number() }), execute: () => 3 })
  const tools = { role: 'tool', content: [] } as const
  /** What the hand-written loop has too: the model's own. */
  const floor = (turns: number) => async () => {
    for (let turn = 0; turn <= turns; turn++) await read(asking(turns)(Array.from({ length: turn }, () => tools)))
  }
  const run = (turns: number) => async () => {
    const { messages } = await new Agent({ model: model(asking(turns)), tools: [add] }).run('go')
    expect(messages).toHaveLength(2 + 2 * turns)
  }
  const own = async (turns: number): Promise<number> => (await promises(run(turns))) - (await promises(floor(turns)))
  const [none, ten] = [await own(0), await own(10)]
  expect((ten - none) / 10).toBeLessThanOrEqual(22)
  expect(none).toBeLessThanOrEqual(30)
})

test.for([
  ['run', 0],
  ['stream', 2],
] as const)('a delta costs no more than the model’s own promises and, by %s, %d', async ([mode, more]) => {
  const work = (deltas: number) => async () => {
    const agent = new Agent({ model: model(talking(deltas)) })
    if (mode === 'run') expect((await agent.run('go')).text).toHaveLength(deltas * 5)
    else expect(await read(agent.stream('go'))).toBeGreaterThan(deltas)
  }
  const own = async (deltas: number): Promise<number> =>
    (await promises(work(deltas))) - (await promises(() => read(talking(deltas)())))
  expect(((await own(1_100)) - (await own(100))) / 1_000).toBeLessThanOrEqual(more + 0.1)
})
