import type { ToolCallPart, ToolMessage, ToolResultPart } from '../message.ts'
import type { LLMStep } from '../model.ts'
import type { ActiveRun } from '../run/active-run.ts'
import { Call } from './call.ts'
import type { BatchOf } from './call.ts'
import type { Tool } from './define.ts'
import { answerCutOff, carryOut } from './execute.ts'
import { judge, question } from './gate.ts'
import type { Verdict } from './gate.ts'
import { errorResult } from './serialise.ts'
import { Slots } from './slots.ts'

/**
 * Answers all calls of a step: gates in call order, executions side by side, questions when the last gate has spoken. However it ends, every call
 * has its one result, and the results are in the session in call order.
 *
 * @throws the first failure in call order, after the results are stored
 */
export async function runTools(
  run: ActiveRun,
  turn: number,
  { toolCalls, finishReason }: LLMStep,
  offered: readonly Tool[],
): Promise<readonly ToolResultPart[]> {
  const batch: BatchOf = { turn, size: toolCalls.length, offered, failed: false }
  const calls = toolCalls.map((part, index) => new Call(run, part, index, batch))
  try {
    if (finishReason === 'length')
      await answerAll(
        calls,
        'The answer was cut off at its length limit, so this call was not executed. Make it again, with less text.',
      )
    else await new Batch(run, calls, batch).run()
  } finally {
    // Only what no gate and no execution answered: a run that is cancelled or fails.
    for (const call of calls) await answerCutOff(call)
    await run.append([toolMessage(calls)])
  }
  const failed = calls.find((call) => call.failure)
  if (failed?.failure) throw failed.failure.error
  return toolMessage(calls).content
}

/** Answers the calls of a step that ended early: none is executed. */
export async function cutOff(run: ActiveRun, turn: number, parts: readonly ToolCallPart[]): Promise<readonly ToolResultPart[]> {
  if (parts.length === 0) return []
  const batch: BatchOf = { turn, size: parts.length, offered: [], failed: true }
  const calls = parts.map((part, index) => new Call(run, part, index, batch))
  for (const call of calls) await answerCutOff(call)
  await run.append([toolMessage(calls)])
  return toolMessage(calls).content
}

class Batch {
  readonly #run: ActiveRun
  readonly #calls: readonly Call[]
  readonly #slots: Slots
  readonly #batch: BatchOf
  readonly #open: Promise<void>[] = []

  constructor(run: ActiveRun, calls: readonly Call[], batch: BatchOf) {
    this.#run = run
    this.#calls = calls
    this.#batch = batch
    this.#slots = new Slots(run.toolConcurrency)
  }

  /** Must the run end here? Then nothing starts any more. */
  get #ending(): boolean {
    return this.#run.ending || this.#batch.failed
  }

  async run(): Promise<void> {
    const questions: [Call, Extract<Verdict, { kind: 'ask' }>][] = []
    for (const call of this.#calls) {
      if (this.#ending) break
      const verdict = await this.#judge(call)
      if (verdict?.kind === 'ask') questions.push([call, verdict])
      else if (verdict) this.#start(call, verdict)
    }
    for (const [call, verdict] of questions) this.#open.push(this.#askAndStart(call, verdict))
    await Promise.all(this.#open)
  }

  async #judge(call: Call): Promise<Verdict | undefined> {
    const { run } = call
    try {
      await call.begin()
      run.check()
      if (run.stopping !== undefined) return void (await call.answer('blocked', errorResult(run.stopping)))
      return await judge(call)
    } catch (error) {
      call.fail(error)
      return undefined
    }
  }

  async #askAndStart(call: Call, verdict: Extract<Verdict, { kind: 'ask' }>): Promise<void> {
    try {
      if (this.#ending) return
      if (this.#run.stopping !== undefined) return await call.answer('blocked', errorResult(this.#run.stopping))
      const answer = await question(call, verdict)
      await this.#carryOut(call, answer)
    } catch (error) {
      call.fail(error)
    }
  }

  #start(call: Call, verdict: Verdict): void {
    this.#open.push(this.#carryOut(call, verdict))
  }

  /** It never rejects. */
  async #carryOut(call: Call, verdict: Verdict): Promise<void> {
    if (verdict.kind === 'replace') return carryOut(call, verdict)
    if (verdict.kind !== 'execute') return
    await this.#slots.run(call.tool?.parallel === false, async () => {
      if (!this.#ending) await carryOut(call)
    })
  }
}

async function answerAll(calls: readonly Call[], text: string): Promise<void> {
  for (const call of calls) await call.answer('error', errorResult(text))
}

function toolMessage(calls: readonly Call[]): ToolMessage {
  return { role: 'tool', content: calls.flatMap((call) => call.stored ?? []) }
}
