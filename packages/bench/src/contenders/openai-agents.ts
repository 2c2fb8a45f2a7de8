import { Agent, Runner, setTracingDisabled, tool, Usage } from '@openai/agents'
import type { Model, ModelRequest, ModelResponse, StreamEvent } from '@openai/agents'
import { z } from 'zod'
import { delta, fiveMiddlewares, noMiddleware, times } from './contender.ts'
import type { Contender, Stream } from './contender.ts'
import { additionTexts, answer, toolDescription, toolName, Witness } from './task.ts'

const counts = { requests: 1, inputTokens: 10, outputTokens: 5, totalTokens: 15 }

/** OpenAI's agents SDK, tracing off. It has no middleware: listeners to its life cycle, on the agent and on the runner, come nearest. */
export const openaiAgents: Contender = {
  run(middlewares) {
    const witness = new Witness()
    const add = tool({
      name: toolName,
      description: toolDescription,
      parameters: z.object({ a: z.number(), b: z.number() }),
      execute: async (input) => witness.add(input),
    })
    const { agent, runner } = listenedTo(new Agent({ name: 'bench', model: new AddingModel(witness), tools: [add] }), middlewares)
    return async () => witness.proof((await runner.run(agent, witness.begin(), { maxTurns: 20 })).finalOutput ?? '')
  },

  streams: (deltas) => ({
    [noMiddleware]: () => streaming(deltas, 0),
    [fiveMiddlewares]: () => streaming(deltas, 5),
  }),
}

function listenedTo(agent: Agent, middlewares: number): { readonly agent: Agent; readonly runner: Runner } {
  setTracingDisabled(true)
  const runner = new Runner({ tracingDisabled: true })
  for (const each of [agent, runner]) {
    times(middlewares, () => {
      for (const event of ['agent_start', 'agent_end', 'agent_tool_start', 'agent_tool_end'] as const) each.on(event, () => {})
    })
  }
  return { agent, runner }
}

function streaming(deltas: number, middlewares: number): Stream {
  const { agent, runner } = listenedTo(new Agent({ name: 'bench', model: new TalkingModel(deltas) }), middlewares)
  return async () => {
    let count = 0
    const run = await runner.run(agent, 'hi', { stream: true })
    for await (const event of run) if (event.type === 'raw_model_stream_event' && event.data.type === 'output_text_delta') count++
    await run.completed
    return count
  }
}

class AddingModel implements Model {
  readonly #witness: Witness

  constructor(witness: Witness) {
    this.#witness = witness
  }

  async getResponse({ input }: ModelRequest): Promise<ModelResponse> {
    const next = this.#witness.next(resultsIn(input))
    return { usage: new Usage(counts), output: [next < 0 ? saying(answer) : calling(next)], responseId: `response_${next}` }
  }

  getStreamedResponse(): AsyncIterable<StreamEvent> {
    throw new Error('this one does not stream')
  }
}

class TalkingModel implements Model {
  readonly #deltas: number

  constructor(deltas: number) {
    this.#deltas = deltas
  }

  getResponse(): Promise<ModelResponse> {
    throw new Error('this one only streams')
  }

  async *getStreamedResponse(): AsyncGenerator<StreamEvent> {
    yield { type: 'response_started' }
    for (let i = 0; i < this.#deltas; i++) yield { type: 'output_text_delta', delta }
    yield { type: 'response_done', response: { id: 'response', usage: counts, output: [saying(delta.repeat(this.#deltas))] } }
  }
}

type Output = ModelResponse['output'][number]
type Said = Extract<Output, { readonly role: 'assistant' }>

function saying(text: string): Said {
  return { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text }] }
}

function calling(next: number): Output {
  const call = { callId: `call_${next}`, name: toolName, arguments: additionTexts[next] ?? '' }
  return { type: 'function_call', status: 'completed', ...call }
}

function resultsIn(input: ModelRequest['input']): number[] {
  if (typeof input === 'string') return []
  return input.flatMap((item) => (item.type === 'function_call_result' ? [Number(textOf(item.output))] : []))
}

function textOf(output: unknown): unknown {
  return typeof output === 'object' && output !== null && 'text' in output ? output.text : output
}
