import { agentLoop, runAgentLoop } from '@mariozechner/pi-agent-core'
import type { AgentLoopConfig, AgentMessage, AgentTool, StreamFn } from '@mariozechner/pi-agent-core'
import { createAssistantMessageEventStream, Type } from '@mariozechner/pi-ai'
import type { AssistantMessage, AssistantMessageEventStream, Message, Model, ToolResultMessage } from '@mariozechner/pi-ai'
import { delta, noMiddleware, sameSource, times } from './contender.ts'
import type { Contender, Stream } from './contender.ts'
import { additions, answer, toolDescription, toolName, Witness } from './task.ts'

const usage = {
  input: 10,
  output: 5,
  cacheRead: 0,
  cacheWrite: 0,
  totalTokens: 15,
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
}
const model: Model<string> = {
  id: 'fake',
  name: 'fake',
  api: 'bench',
  provider: 'bench',
  baseUrl: '',
  reasoning: false,
  input: ['text'],
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  contextWindow: 100_000,
  maxTokens: 1_000,
}

/** pi's loop, without its `Agent` around it. Each of its callbacks exists once, so n middlewares are n awaited functions in each. */
export const pi: Contender = {
  run(middlewares) {
    const witness = new Witness()
    const parameters = Type.Object({ a: Type.Number(), b: Type.Number() })
    const add: AgentTool<typeof parameters> = {
      name: toolName,
      label: toolName,
      description: toolDescription,
      parameters,
      execute: async (_, input) => ({ content: [{ type: 'text', text: String(witness.add(input)) }], details: {} }),
    }
    const config: AgentLoopConfig = { model, convertToLlm: (messages) => messages as Message[], ...callbacks(middlewares) }
    const streamFn: StreamFn = (_model, { messages }) => {
      const next = witness.next(resultsIn(messages))
      return streamOf(next < 0 ? saying(answer) : calling(next))
    }
    return async () => {
      const context = { systemPrompt: '', messages: [], tools: [add] }
      const messages = await runAgentLoop([asking(witness.begin())], context, config, () => {}, undefined, streamFn)
      return witness.proof(textOf(messages.at(-1)))
    }
  },

  streams: (deltas) => ({
    [noMiddleware]: () => streaming(deltas, pushed),
    [sameSource]: () => streaming(deltas, fed),
  }),
}

function callbacks(count: number): Partial<AgentLoopConfig> {
  if (count === 0) return {}
  const noops = times(count, () => async () => {})
  const all = async (): Promise<undefined> => {
    for (const noop of noops) await noop()
  }
  return {
    beforeToolCall: all,
    afterToolCall: all,
    transformContext: async (messages) => (await all(), messages),
    shouldStopAfterTurn: async () => (await all(), false),
    getSteeringMessages: async () => (await all(), []),
    getFollowUpMessages: async () => (await all(), []),
  }
}

function streaming(deltas: number, streamFrom: (deltas: number) => AssistantMessageEventStream): Stream {
  const config: AgentLoopConfig = { model, convertToLlm: (messages) => messages as Message[] }
  return async () => {
    let count = 0
    const context = { systemPrompt: '', messages: [], tools: [] }
    for await (const event of agentLoop([asking('hi')], context, config, undefined, () => streamFrom(deltas))) {
      if (event.type === 'message_update' && event.assistantMessageEvent.type === 'text_delta') count++
    }
    return count
  }
}

/** All in one tick, before the loop reads the first. */
function pushed(deltas: number): AssistantMessageEventStream {
  const stream = createAssistantMessageEventStream()
  const feed = feeder(stream)
  for (let i = 0; i < deltas; i++) feed.push(delta)
  feed.end()
  return stream
}

/** From an asynchronous generator, as koagent's model is, and as a network is. */
function fed(deltas: number): AssistantMessageEventStream {
  const stream = createAssistantMessageEventStream()
  const feed = feeder(stream)
  const read = async (): Promise<void> => {
    for await (const text of source(deltas)) feed.push(text)
    feed.end()
  }
  void read()
  return stream
}

async function* source(deltas: number): AsyncGenerator<string> {
  for (let i = 0; i < deltas; i++) yield delta
}

function feeder(stream: AssistantMessageEventStream): { push(text: string): void; end(): void } {
  const part = { type: 'text' as const, text: '' }
  const message = said([part], 'stop')
  stream.push({ type: 'start', partial: message })
  return {
    push(text) {
      part.text += text
      stream.push({ type: 'text_delta', contentIndex: 0, delta: text, partial: message })
    },
    end: () => stream.push({ type: 'done', reason: 'stop', message }),
  }
}

function streamOf(message: AssistantMessage): AssistantMessageEventStream {
  const stream = createAssistantMessageEventStream()
  stream.push({ type: 'start', partial: message })
  stream.push({ type: 'done', reason: message.stopReason === 'toolUse' ? 'toolUse' : 'stop', message })
  return stream
}

function asking(content: string): AgentMessage {
  return { role: 'user', content, timestamp: 0 }
}

function saying(text: string): AssistantMessage {
  return said([{ type: 'text', text }], 'stop')
}

/** A provider of pi has parsed the text by here. */
function calling(next: number): AssistantMessage {
  return said([{ type: 'toolCall', id: `call_${next}`, name: toolName, arguments: { ...additions[next] } }], 'toolUse')
}

function said(content: AssistantMessage['content'], stopReason: 'stop' | 'toolUse'): AssistantMessage {
  return { role: 'assistant', content, api: 'bench', provider: 'bench', model: 'fake', usage, stopReason, timestamp: 0 }
}

function resultsIn(messages: readonly Message[]): number[] {
  return messages.filter((message) => message.role === 'toolResult').map((message) => Number(textOf(message)))
}

function textOf(message: AgentMessage | ToolResultMessage | undefined): string {
  const content = message && 'content' in message && Array.isArray(message.content) ? message.content : []
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}
