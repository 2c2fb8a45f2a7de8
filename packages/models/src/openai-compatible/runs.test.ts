import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Agent, defineTool, retry } from '@koagent/core'
import type { LLMStep, Run } from '@koagent/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openaiCompatible } from './openai-compatible.ts'
import { calls, delta, done, no, sent, stop } from './testing/chunks.ts'

const usage = { prompt_tokens: 12, completion_tokens: 7 }
const ok = delta({ content: 'ok' }) + stop + done
const failed = delta({}, 'malformed_function_call') + done

interface Case {
  readonly name: string
  /** What each request is answered with. */
  readonly answers: readonly string[]
  /** The arguments that the tool was executed with. */
  readonly executed?: readonly object[]
  /** What the model is told the results are, in order. */
  readonly results?: readonly unknown[]
  /** The finish reasons of the steps, as the server put them. */
  readonly reasons: readonly string[]
}

const cases: readonly Case[] = [
  {
    name: 'stop beside a call',
    answers: [calls([0, 'a', 'add', '{"n":1}']) + stop + done, ok],
    executed: [{ n: 1 }],
    results: ['1'],
    reasons: ['stop', 'stop'],
  },
  {
    name: 'tool_calls beside no call',
    answers: [delta({ content: 'ok' }, 'tool_calls') + done],
    reasons: ['tool_calls'],
  },
  {
    name: 'arguments that are no JSON',
    answers: [calls([0, 'a', 'add', '{"path": "x", }']) + delta({}, 'tool_calls') + done, ok],
    results: [expect.stringContaining('{"path": "x", }')],
    reasons: ['tool_calls', 'stop'],
  },
  {
    name: 'three calls in one slot',
    answers: [[1, 2, 3].map((n) => calls([0, 'a', 'add', `{"n":${n}}`])).join('') + stop + done, ok],
    results: [expect.stringContaining('{"n":1}{"n":2}{"n":3}')],
    reasons: ['stop', 'stop'],
  },
  {
    name: 'calls without ids, with arguments as objects and as text',
    answers: [calls([no, no, 'add', { n: 1 }], [no, no, 'add', '{"n":2}'], [no, no, 'add', null]) + stop + done, ok],
    executed: [{ n: 1 }, { n: 2 }, {}],
    results: ['1', '2', 'undefined'],
    reasons: ['stop', 'stop'],
  },
  {
    name: 'a call that was cut off by the limit',
    answers: [calls([0, 'a', 'add', '{"n']) + delta({}, 'length') + done, ok],
    results: [expect.stringMatching(/./)],
    reasons: ['length', 'stop'],
  },
  { name: 'an empty answer with an abnormal end', answers: [failed, ok], reasons: ['stop'] },
  { name: 'a stream that is cut off', answers: [delta({ content: 'o' }), ok], reasons: ['stop'] },
  { name: 'an error in mid-stream', answers: [delta({ content: 'o' }) + sent({ error: { code: 503 } }), ok], reasons: ['stop'] },
  { name: 'an end that says error', answers: [delta({ content: 'o' }, 'error') + done, ok], reasons: ['stop'] },
]

let answers: string[] = []
let requests: { messages: { role: string; content: string; tool_call_id?: string; tool_calls?: { id: string }[] }[] }[] = []

const server = createServer((request, response) => {
  void text(request).then((body) => {
    requests.push(JSON.parse(body) as (typeof requests)[number])
    response.writeHead(200, { 'content-type': 'text/event-stream' }).end(answers.shift())
  })
})
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
afterAll(() => server.close())

/** An agent with one tool, which asks the model again up to twice. */
function agentWith(executed: object[], steps: LLMStep[]): Agent {
  const add = defineTool({
    name: 'add',
    description: 'Adds.',
    input: { type: 'object' },
    execute(args: { n?: number }) {
      executed.push(args)
      return String(args.n)
    },
  })
  return new Agent({
    model: openaiCompatible({ baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, model: 'm1' }),
    tools: [add],
    middleware: [
      {
        name: 'again',
        on_error: (ctx, next) => (ctx.phase === 'llm_step' && ctx.attempt < 3 ? retry() : next()),
        after_llm_step: (ctx, next) => (steps.push(ctx.step), next()),
      },
    ],
  })
}

const modes = ['run', 'stream'] as const

async function resultOf(mode: (typeof modes)[number], agent: Agent): Promise<Awaited<Run['result']>> {
  if (mode === 'run') return await agent.run('go')
  const run = agent.stream('go')
  for await (const _ of run);
  return await run.result
}

describe.for(modes)('a run over HTTP (%s)', (mode) => {
  test.for(cases)('goes on after $name', async (row) => {
    answers = [...row.answers]
    requests = []
    const executed: object[] = []
    const steps: LLMStep[] = []
    const result = await resultOf(mode, agentWith(executed, steps))
    expect(result).toMatchObject({ status: 'completed', text: 'ok' })
    expect(requests).toHaveLength(row.answers.length)
    expect(executed).toEqual(row.executed ?? [])
    expect(steps.map(({ rawFinishReason }) => rawFinishReason)).toEqual(row.reasons)
    const messages = requests.at(-1)?.messages ?? []
    const results = messages.filter(({ role }) => role === 'tool')
    expect(results.map(({ content }) => content)).toEqual(row.results ?? [])
    // Each call and its result go by one id, unlike all others.
    const ids = messages.flatMap(({ tool_calls }) => tool_calls ?? []).map(({ id }) => id)
    expect(results.map(({ tool_call_id }) => tool_call_id)).toEqual(ids)
    expect(new Set(ids.filter(Boolean)).size).toBe(results.length)
  })

  test('fails with what the model said last when asking again is of no use', async () => {
    answers = [failed, failed, failed]
    requests = []
    await expect(resultOf(mode, agentWith([], []))).rejects.toMatchObject({
      name: 'ModelError',
      code: 'model_empty',
      retryable: true,
      message: expect.stringContaining('malformed_function_call') as string,
    })
    expect(requests).toHaveLength(3)
  })

  test.for([
    ['last, without choices', [delta({ content: 'ok' }), stop, sent({ usage })]],
    ['last, with empty choices', [delta({ content: 'ok' }), stop, sent({ choices: [], usage })]],
    ['first, and none later', [sent({ choices: [], usage }), delta({ content: 'ok' }), stop]],
  ] as const)('counts usage that comes %s', async ([, stream]) => {
    answers = [stream.join('') + done]
    const result = await resultOf(mode, agentWith([], []))
    expect(result).toMatchObject({ text: 'ok', usage: { inputTokens: 12, outputTokens: 7 } })
  })
})
