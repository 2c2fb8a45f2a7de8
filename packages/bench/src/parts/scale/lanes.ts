import { Agent, defineTool, memorySession } from '@koagent/core'
import type { Message, Model, ModelPart } from '@koagent/core'
import { z } from 'zod'
import { times } from '../../contenders/contender.ts'
import { talkingModel } from '../../contenders/koagent.ts'
import type { Lane, LaneId } from '../../measure/lane.ts'

/** What grows, by name: `size` is the lane's variant. */
const lanes: Readonly<Record<string, (size: number) => Lane>> = {
  'concurrent runs': concurrentRuns,
  'a session that runs fill': filledSession,
  'a run on a full session': fullSession,
  'turns of one run': turns,
  'parallel tools': parallelTools,
  deltas,
}

export function scaleLane({ contender, variant }: LaneId): Lane {
  const make = lanes[contender]
  if (!make) throw new Error(`nothing that grows is named '${contender}': there is ${Object.keys(lanes).join(', ')}`)
  return make(Number(variant))
}

const echo = defineTool({
  name: 'echo',
  description: 'Says it again.',
  input: z.object({ text: z.string() }),
  execute: ({ text }) => text,
})

/** One turn with a tool and an answer, so many at a time on one agent. */
function concurrentRuns(size: number): Lane {
  const agent = new Agent({ model: callingModel(1, 1), tools: [echo] })
  const once = async (): Promise<void> => expectEqual('turns', (await agent.run('go')).turns, 2)
  return { units: size, work: () => Promise.all(times(size, once)) }
}

/** From none to so many messages, two a run. */
function filledSession(size: number): Lane {
  const agent = new Agent({ model: talkingModel(1) })
  return {
    units: size,
    async work() {
      const session = memorySession()
      for (let i = 0; i < size / 2; i++) await agent.run('hi', { session })
      expectEqual('messages', session.messages.length, size)
    },
  }
}

/** One answer on a session that holds so many messages already, and gets longer meanwhile by a little. */
function fullSession(size: number): Lane {
  const agent = new Agent({ model: talkingModel(1) })
  const old = times(size / 2, (i): Message[] => [
    { role: 'user', content: [{ type: 'text', text: `question ${i}` }] },
    { role: 'assistant', content: [{ type: 'text', text: `answer ${i}` }] },
  ]).flat()
  let session = memorySession({ messages: old })
  return {
    units: 1,
    async work() {
      if (session.messages.length > size * 1.1) session = memorySession({ messages: old })
      expectEqual('text', (await agent.run('hi', { session })).turns, 1)
    },
  }
}

function turns(size: number): Lane {
  const agent = new Agent({ model: callingModel(size - 1, 1), tools: [echo], maxTurns: size })
  return { units: size, work: async () => expectEqual('turns', (await agent.run('go')).turns, size) }
}

/** A run with one batch of so many calls. */
function parallelTools(size: number): Lane {
  const agent = new Agent({ model: callingModel(1, size), tools: [echo] })
  return {
    units: 1,
    async work() {
      const { messages } = await agent.run('go')
      expectEqual('results', messages.find(({ role }) => role === 'tool')?.content.length ?? 0, size)
    },
  }
}

function deltas(size: number): Lane {
  const agent = new Agent({ model: talkingModel(size) })
  return {
    units: size,
    async work() {
      let count = 0
      for await (const event of agent.stream('hi')) if (event.type === 'text_delta') count++
      expectEqual('deltas', count, size)
    },
  }
}

/** Asks for `calls` calls in each of so many turns, then answers. Keeps nothing, so that runs can share it. */
function callingModel(turnsWithTools: number, calls: number): Model {
  return {
    provider: 'bench',
    id: 'calling',
    async *stream({ messages }): AsyncGenerator<ModelPart> {
      // A run of this model begins with one message, and each turn adds two.
      const turn = (messages.length - 1) / 2
      const done = turn >= turnsWithTools
      if (done) yield { type: 'text_delta', text: 'done' }
      else
        for (let i = 0; i < calls; i++)
          yield { type: 'tool_call', callId: `call_${turn}_${i}`, toolName: echo.name, args: '{"text":"hello"}' }
      yield { type: 'finish', reason: done ? 'stop' : 'tool_calls' }
    },
  }
}

function expectEqual(what: string, got: number, wanted: number): void {
  if (got !== wanted) throw new Error(`${got} ${what}, and there must be ${wanted}`)
}
