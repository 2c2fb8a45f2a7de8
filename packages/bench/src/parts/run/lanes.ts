import { contenderNamed } from '../../contenders/contenders.ts'
import { additions, answer } from '../../contenders/task.ts'
import type { RunProof } from '../../contenders/task.ts'
import type { Lane, LaneId } from '../../measure/lane.ts'

export function variantOf(middlewares: number): string {
  return `${middlewares} middleware${middlewares === 1 ? '' : 's'}`
}

/** A contender's run. Every single one is checked. */
export async function runLane({ contender, variant }: LaneId): Promise<Lane> {
  const once = (await contenderNamed(contender)).run(Number.parseInt(variant, 10))
  if (!once) throw new Error(`${contender} has no hooks for ${variant}`)
  return { units: 1, work: async () => check(await once()) }
}

/** @throws Error that says what the run left out */
export function check({ text, inputs, results }: RunProof): void {
  if (text !== answer) throw new Error(`the run answered '${text}', and must answer '${answer}'`)
  if (inputs.length !== additions.length)
    throw new Error(`the tool ran ${inputs.length} times, and must run ${additions.length} times`)
  for (let i = 0; i < additions.length; i++) {
    const [asked, got] = [additions[i], inputs[i]]
    if (asked?.a !== got?.a || asked?.b !== got?.b) throw new Error(`call ${i} reached the tool with other arguments`)
  }
  if (results.length !== additions.length)
    throw new Error(`the model saw ${results.length} results, and must see ${additions.length}`)
}
