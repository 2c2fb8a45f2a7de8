import { Agent, defineTool } from '@koagent/core'
import type { Model, ModelPart } from '@koagent/core'
import { mebi, Peak } from './heap.ts'

const chunk = 64 * 1_024

/** A tool that reports 96 MiB of progress, to a consumer that keeps none of it, in a process whose heap may not hold it. */
export async function progress(shrink: number): Promise<Record<string, number>> {
  const count = Math.ceil((96 * mebi) / chunk / shrink)
  const talk = defineTool({
    name: 'talk',
    description: 'Says a lot.',
    input: { type: 'object' },
    async *execute() {
      // Each of them a string of its own, or they would weigh nothing.
      for (let i = 0; i < count; i++) yield Buffer.alloc(chunk, 97 + (i % 26)).toString('latin1')
      return 'said'
    },
  })
  const agent = new Agent({ model: callingOnce(talk.name), tools: [talk] })
  const peak = new Peak()
  let characters = 0
  let seen = 0
  const run = agent.stream('go')
  for await (const event of run) {
    if (event.type !== 'tool_progress' || typeof event.data !== 'string') continue
    characters += event.data.length
    if (seen++ % 64 === 0) peak.look()
  }
  const { status } = await run.result
  return {
    streamedMiB: status === 'completed' ? characters / mebi : 0,
    wantedMiB: (count * chunk) / mebi,
    peakMiB: peak.mebibytes,
  }
}

function callingOnce(toolName: string): Model {
  return {
    provider: 'bench',
    id: 'calling-once',
    async *stream({ messages }): AsyncGenerator<ModelPart> {
      const called = messages.length > 1
      if (called) yield { type: 'text_delta', text: 'done' }
      else yield { type: 'tool_call', callId: 'call', toolName, args: '{}' }
      yield { type: 'finish', reason: called ? 'stop' : 'tool_calls' }
    },
  }
}
