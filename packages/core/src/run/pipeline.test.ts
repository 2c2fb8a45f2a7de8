import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, defineTool } from '@koagent/core'
import type { AgentEvent } from '@koagent/core'
import { scripted } from '../scripted.ts'
import { execute, expectWhole, modes, recorder } from '../testing/kit.ts'
import type { Outcome } from '../testing/kit.ts'

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
})

const steps = [
  { text: 'let me see', toolCalls: [{ name: 'add', args: { a: 1, b: 2 } }] },
  { text: 'it is 3', usage: { inputTokens: 5, outputTokens: 7 } },
]

/** The same run in one mode, with `layers` recorders around it. */
async function twoTurns(mode: 'run' | 'stream', layers = 1): Promise<Outcome & { readonly trace: readonly string[] }> {
  const trace: string[] = []
  const middleware = Array.from({ length: layers }, (_, i) => recorder(`m${i}`, trace))
  let ids = 0
  const runtime = { randomId: () => `id-${ids++}`, now: () => 0 }
  const agent = new Agent({ model: scripted(steps), tools: [add], middleware, runtime })
  return { ...(await execute(mode, agent)), trace }
}

const typesOf = (events: readonly AgentEvent[]) => events.map(({ type }) => type)

describe('a run of two turns', () => {
  test.for(modes)('passes its points in order, each layer left in reverse (%s)', async (mode) => {
    const { trace } = await twoTurns(mode)
    expect(trace).toEqual(
      [
        '>on_session_start <on_session_start >before_run <before_run >around_run >on_input <on_input',
        '>before_turn <before_turn >before_llm_step <before_llm_step >around_llm_step <around_llm_step',
        '>after_llm_step <after_llm_step >on_permission <on_permission >before_tool <before_tool',
        '>around_tool <around_tool >after_tool <after_tool >after_turn <after_turn',
        '>before_turn <before_turn >before_llm_step <before_llm_step >around_llm_step <around_llm_step',
        '>after_llm_step <after_llm_step >after_turn <after_turn >on_stop <on_stop',
        '<around_run >after_run <after_run >on_session_end <on_session_end',
      ].flatMap((line) => line.split(' ').map((entry) => `${entry[0]}m0:${entry.slice(1)}`)),
    )
  })

  test.for(modes)('tells its events in order (%s)', async (mode) => {
    const { events, result } = await twoTurns(mode)
    expectWhole({ events }, result?.messages)
    expect(typesOf(events)).toEqual([
      'run_begin',
      'turn_begin',
      'step_begin',
      'text_delta',
      'text_delta',
      'text_delta',
      'tool_args_delta',
      'step_end',
      'tool_call_begin',
      'tool_result',
      'turn_end',
      'turn_begin',
      'step_begin',
      'text_delta',
      'text_delta',
      'text_delta',
      'step_end',
      'turn_end',
      'run_end',
    ])
  })

  test.for(modes)('gives its result (%s)', async (mode) => {
    const { result } = await twoTurns(mode)
    expect(result).toMatchObject({
      status: 'completed',
      text: 'it is 3',
      turns: 2,
      usage: { inputTokens: 5, outputTokens: 7 },
      messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'tool' }, { role: 'assistant' }],
    })
    expect(result).not.toHaveProperty('reason')
  })

  test('is the same in both modes: events, ids, hooks and result', async () => {
    const [run, stream] = [await twoTurns('run'), await twoTurns('stream')]
    expect(stream.events.map(({ seq }) => seq)).toEqual(stream.events.map((_, i) => i))
    expect(stream.events.map(({ seq: _seq, ...event }) => event)).toEqual(run.events)
    expect(stream.trace).toEqual(run.trace)
    expect(stream.result).toEqual(run.result)
  })

  test('has ids that no two events share and a replay repeats', async () => {
    const [first, again] = [await twoTurns('stream'), await twoTurns('stream')]
    const ids = first.events.map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    expect(again.events).toEqual(first.events)
  })

  test.for(modes)('is the same with layers that do nothing (%s)', async (mode) => {
    const [none, three] = [await twoTurns(mode, 0), await twoTurns(mode, 3)]
    expect(three.events).toEqual(none.events)
    expect(three.result).toEqual(none.result)
    const depth: string[] = []
    for (const entry of three.trace) {
      if (entry.startsWith('>')) depth.push(entry.slice(1))
      else expect(depth.pop()).toBe(entry.slice(1))
    }
    expect(depth).toEqual([])
  })

  test('starts in the microtask after the call', async () => {
    const trace: string[] = []
    const agent = new Agent({ model: scripted([{ text: 'hi' }]), middleware: [recorder('m', trace)] })
    const running = agent.run('go')
    expect(trace).toEqual([])
    await running
    expect(trace).not.toEqual([])
  })
})
