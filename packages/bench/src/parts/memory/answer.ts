import { Agent } from '@koagent/core'
import type { Model, ModelPart } from '@koagent/core'
import { heapAfterGc, mebi, Peak } from './heap.ts'

/** A million of them are a little more than 16 MiB. */
const characters = 17

/** One answer of 16 MiB in 1,000,000 deltas, each a string of its own, to a consumer that keeps none of them. */
export async function answer(shrink: number): Promise<Record<string, number>> {
  const count = Math.ceil(1_000_000 / shrink)
  const agent = new Agent({ model: talking(count) })
  const before = await heapAfterGc()
  const peak = new Peak()
  let deltas = 0
  let length = 0
  const run = agent.stream('go')
  for await (const event of run) if (event.type === 'text_delta' && deltas++ % 4_096 === 0) peak.look()
  length = (await run.result).text.length
  return {
    deltas,
    wantedDeltas: count,
    textMiB: length / mebi,
    wantedMiB: (count * characters) / mebi,
    peakMiB: peak.mebibytes,
    // While the result can still be reached: the answer is stored once, in whatever form.
    heldMiB: (await heapAfterGc()) - before,
    resultStatus: (await run.result).status === 'completed' ? 1 : 0,
  }
}

function talking(count: number): Model {
  return {
    provider: 'bench',
    id: 'talking',
    async *stream(): AsyncGenerator<ModelPart> {
      for (let i = 0; i < count; i++) yield { type: 'text_delta', text: String(i).padEnd(characters) }
      yield { type: 'finish', reason: 'stop' }
    },
  }
}
