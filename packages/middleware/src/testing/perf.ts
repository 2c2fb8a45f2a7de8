import { Agent, defineTool } from '@koagent/core'
import type { Middleware, Model } from '@koagent/core'
import { bench, describe } from 'vitest'
import { z } from 'zod'

const calls = 10

/** Answers for ever: a step with ten calls, then one with a text of a hundred words. */
const model: Model = {
  provider: 'bench',
  id: 'endless',
  async *stream({ messages }) {
    if (messages.at(-1)?.role === 'tool') {
      for (let i = 0; i < 100; i++) yield { type: 'text_delta', text: 'word ' }
      yield { type: 'finish', reason: 'stop' }
      return
    }
    for (let i = 0; i < calls; i++) yield { type: 'tool_call', callId: `call_${i}`, toolName: 'work', args: '{"text":"hello"}' }
    yield { type: 'finish', reason: 'tool_calls' }
  },
}

const tool = defineTool({ name: 'work', description: 'Works.', input: z.object({ text: z.string() }), execute: () => 'done' })

/** Compares runs with and without a middleware in one process: `npx vitest bench --run` prints the ratio. */
export function compare(name: string, ...middleware: readonly Middleware[]): void {
  const bare = new Agent({ model, tools: [tool] })
  const layered = new Agent({ model, tools: [tool], middleware })
  describe(`the cost of ${name}`, () => {
    bench('a run of two turns and ten calls without it', async () => void (await bare.run('go')))
    bench(`with ${name}`, async () => void (await layered.run('go')))
  })
}
