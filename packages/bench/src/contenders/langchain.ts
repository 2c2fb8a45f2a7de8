import { BaseChatModel } from '@langchain/core/language_models/chat_models'
import { AIMessage, AIMessageChunk } from '@langchain/core/messages'
import type { BaseMessage } from '@langchain/core/messages'
import { ChatGenerationChunk } from '@langchain/core/outputs'
import type { ChatResult } from '@langchain/core/outputs'
import { createAgent, createMiddleware, tool } from 'langchain'
import { z } from 'zod'
import { delta, fiveMiddlewares, noMiddleware, times } from './contender.ts'
import type { Contender, Stream } from './contender.ts'
import { additions, answer, toolDescription, toolName, Witness } from './task.ts'

const usage = { input_tokens: 10, output_tokens: 5, total_tokens: 15 }

/** langchain's `createAgent`. Its middlewares are wrapped around all four places that it has. */
export const langchain: Contender = {
  run(middlewares) {
    const witness = new Witness()
    const add = tool(async (input) => String(witness.add(input)), {
      name: toolName,
      description: toolDescription,
      schema: z.object({ a: z.number(), b: z.number() }),
    })
    const agent = createAgent({ model: new AddingModel(witness), tools: [add], middleware: times(middlewares, noop) })
    return async () => {
      const { messages } = await agent.invoke(
        { messages: [{ role: 'user', content: witness.begin() }] },
        { recursionLimit: 1_000 },
      )
      return witness.proof(messages.at(-1)?.text ?? '')
    }
  },

  streams: (deltas) => ({
    [noMiddleware]: () => streaming(deltas, 0),
    [fiveMiddlewares]: () => streaming(deltas, 5),
  }),
}

function noop(index: number) {
  return createMiddleware({
    name: `noop-${index}`,
    beforeModel: () => undefined,
    afterModel: () => undefined,
    wrapModelCall: (request, handler) => handler(request),
    wrapToolCall: (request, handler) => handler(request),
  })
}

function streaming(deltas: number, middlewares: number): Stream {
  const agent = createAgent({ model: new TalkingModel(deltas), tools: [], middleware: times(middlewares, noop) })
  return async () => {
    let count = 0
    const stream = await agent.stream(
      { messages: [{ role: 'user', content: 'hi' }] },
      { streamMode: 'messages', recursionLimit: 1_000 },
    )
    for await (const [message] of stream) if (message.text) count++
    return count
  }
}

abstract class FakeModel extends BaseChatModel {
  constructor() {
    super({})
  }

  _llmType(): string {
    return 'bench'
  }

  override bindTools(): this {
    return this
  }
}

class AddingModel extends FakeModel {
  readonly #witness: Witness

  constructor(witness: Witness) {
    super()
    this.#witness = witness
  }

  async _generate(messages: BaseMessage[]): Promise<ChatResult> {
    const results = messages.filter((message) => message.type === 'tool').map(({ text }) => Number(text))
    const next = this.#witness.next(results)
    // A provider's package has parsed the text by here.
    const call =
      next < 0 ? [] : [{ name: toolName, args: { ...additions[next] }, id: `call_${next}`, type: 'tool_call' as const }]
    const message = new AIMessage(next < 0 ? answer : '')
    message.tool_calls = call
    // TypeScript 7 takes the field's declared type for undefined.
    Object.assign(message, { usage_metadata: usage })
    return { generations: [{ text: message.text, message }] }
  }
}

class TalkingModel extends FakeModel {
  readonly #deltas: number

  constructor(deltas: number) {
    super()
    this.#deltas = deltas
  }

  async _generate(): Promise<ChatResult> {
    throw new Error('this one only streams')
  }

  override async *_streamResponseChunks(
    _messages: BaseMessage[],
    _options: this['ParsedCallOptions'],
    manager?: { handleLLMNewToken(...args: unknown[]): Promise<void> },
  ): AsyncGenerator<ChatGenerationChunk> {
    for (let i = 0; i < this.#deltas; i++) {
      const chunk = new ChatGenerationChunk({ text: delta, message: new AIMessageChunk({ content: delta, id: 'message' }) })
      yield chunk
      await manager?.handleLLMNewToken(delta, undefined, undefined, undefined, undefined, { chunk })
    }
  }
}
