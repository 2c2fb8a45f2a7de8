import {
  AfterInvocationEvent,
  AfterModelCallEvent,
  AfterToolCallEvent,
  AfterToolsEvent,
  Agent,
  BeforeInvocationEvent,
  BeforeModelCallEvent,
  BeforeToolCallEvent,
  BeforeToolsEvent,
  ExecuteToolStage,
  InvokeModelStage,
  MessageAddedEvent,
  Model,
  tool,
} from '@strands-agents/sdk'
import type { BaseModelConfig, HookableEvent, HookableEventConstructor, Message, ModelStreamEvent } from '@strands-agents/sdk'
import { z } from 'zod'
import { delta, fiveMiddlewares, noMiddleware, times } from './contender.ts'
import type { Contender, Stream } from './contender.ts'
import { additionTexts, answer, toolDescription, toolName, Witness } from './task.ts'

/** Hooks that do nothing, on every event of an invocation's life cycle. */
const hooks = [
  hookOn(BeforeInvocationEvent),
  hookOn(AfterInvocationEvent),
  hookOn(MessageAddedEvent),
  hookOn(BeforeModelCallEvent),
  hookOn(AfterModelCallEvent),
  hookOn(BeforeToolsEvent),
  hookOn(AfterToolsEvent),
  hookOn(BeforeToolCallEvent),
  hookOn(AfterToolCallEvent),
]

/** AWS's Strands. A middleware is a hook on each event, and a wrap of both stages. Its agent is kept, and its messages are cleared. */
export const strands: Contender = {
  run(middlewares) {
    const witness = new Witness()
    const add = tool({
      name: toolName,
      description: toolDescription,
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      callback: (input) => witness.add(input),
    })
    const agent = withNoops(new AddingModel(witness), [add], middlewares)
    return async () => {
      agent.messages.length = 0
      const { lastMessage } = await agent.invoke(witness.begin())
      return witness.proof(textIn(lastMessage))
    }
  },

  streams: (deltas) => ({
    [noMiddleware]: () => streaming(deltas, 0),
    [fiveMiddlewares]: () => streaming(deltas, 5),
  }),
}

function hookOn<T extends HookableEvent>(event: HookableEventConstructor<T>): (agent: Agent) => void {
  return (agent) => void agent.addHook(event, () => {})
}

function withNoops(model: FakeModel, tools: ReturnType<typeof tool>[], middlewares: number): Agent {
  const agent = new Agent({ model, tools, printer: false, retryStrategy: null })
  times(middlewares, () => {
    for (const hook of hooks) hook(agent)
    agent.addMiddleware(InvokeModelStage, async function* noop(context, next) {
      return yield* next(context)
    })
    agent.addMiddleware(ExecuteToolStage, async function* noop(context, next) {
      return yield* next(context)
    })
  })
  return agent
}

function streaming(deltas: number, middlewares: number): Stream {
  const agent = withNoops(new TalkingModel(deltas), [], middlewares)
  return async () => {
    let count = 0
    agent.messages.length = 0
    for await (const event of agent.stream('hi')) {
      if (event.type !== 'modelStreamUpdateEvent') continue
      const { event: update } = event
      if (update.type === 'modelContentBlockDeltaEvent' && update.delta.type === 'textDelta') count++
    }
    return count
  }
}

abstract class FakeModel extends Model {
  #config: BaseModelConfig = { modelId: 'fake' }

  override updateConfig(config: BaseModelConfig): void {
    this.#config = { ...this.#config, ...config }
  }

  override getConfig(): BaseModelConfig {
    return this.#config
  }
}

class AddingModel extends FakeModel {
  readonly #witness: Witness

  constructor(witness: Witness) {
    super()
    this.#witness = witness
  }

  override async *stream(messages: Message[]): AsyncGenerator<ModelStreamEvent> {
    const next = this.#witness.next(resultsIn(messages))
    yield { type: 'modelMessageStartEvent', role: 'assistant' }
    if (next < 0) {
      yield { type: 'modelContentBlockStartEvent' }
      yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text: answer } }
    } else {
      yield { type: 'modelContentBlockStartEvent', start: { type: 'toolUseStart', name: toolName, toolUseId: `call_${next}` } }
      yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'toolUseInputDelta', input: additionTexts[next] ?? '' } }
    }
    yield { type: 'modelContentBlockStopEvent' }
    yield { type: 'modelMessageStopEvent', stopReason: next < 0 ? 'endTurn' : 'toolUse' }
    yield { type: 'modelMetadataEvent', usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 } }
  }
}

class TalkingModel extends FakeModel {
  readonly #deltas: number

  constructor(deltas: number) {
    super()
    this.#deltas = deltas
  }

  override async *stream(): AsyncGenerator<ModelStreamEvent> {
    yield { type: 'modelMessageStartEvent', role: 'assistant' }
    yield { type: 'modelContentBlockStartEvent' }
    for (let i = 0; i < this.#deltas; i++)
      yield { type: 'modelContentBlockDeltaEvent', delta: { type: 'textDelta', text: delta } }
    yield { type: 'modelContentBlockStopEvent' }
    yield { type: 'modelMessageStopEvent', stopReason: 'endTurn' }
    yield { type: 'modelMetadataEvent', usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 } }
  }
}

function resultsIn(messages: readonly Message[]): number[] {
  const results: number[] = []
  for (const { content } of messages) {
    for (const block of content) {
      if (block.type !== 'toolResultBlock') continue
      for (const part of block.content) {
        if (part.type === 'textBlock') results.push(Number(part.text))
        else if (part.type === 'jsonBlock') results.push(Number(part.json))
      }
    }
  }
  return results
}

function textIn({ content }: Message): string {
  return content.map((block) => (block.type === 'textBlock' ? block.text : '')).join('')
}
