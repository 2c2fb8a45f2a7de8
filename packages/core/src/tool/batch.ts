import { freezeOuter } from '../freeze.ts'
import type { ToolCallPart, ToolResultPart } from '../message.ts'
import type { LLMStep } from '../model.ts'
import type { ActiveRun } from '../run/active-run.ts'
import { Call } from './call.ts'
import type { BatchOf } from './call.ts'
import type { Tool } from './define.ts'
import { answerCutOff, carryOut } from './execute.ts'
import { consult, judge } from './gate.ts'
import type { Ruling, Verdict } from './gate.ts'
import { errorResult } from './serialise.ts'
import { Slots } from './slots.ts'

/**
 * Answers all calls of a step: gates in call order, executions side by side, questions when the last gate has spoken. However it ends, every call
 * has its one result, and the results are in the session in call order.
 *
 * @throws the first failure in call order, after the results are stored
 */
export function runTools(
  run: ActiveRun,
  turn: number,
  { toolCalls, finishReason }: LLMStep,
  offered: readonly Tool[],
): Promise<readonly ToolResultPart[]> {
  return answered(run, turn, toolCalls, offered, finishReason === 'length' ? tooLong : judgeAndCarryOut)
}

/**
 * Answers the calls of a step that ended early: none is executed.
 *
 * @param goesOn does the run go on all the same?
 */
export async function cutOff(
  run: ActiveRun,
  turn: number,
  parts: readonly ToolCallPart[],
  goesOn: boolean,
): Promise<readonly ToolResultPart[]> {
  return parts.length > 0 ? answered(run, turn, parts, [], goesOn ? interrupted : async () => {}) : []
}

async function answered(
  run: ActiveRun,
  turn: number,
  parts: readonly ToolCallPart[],
  offered: readonly Tool[],
  work: (run: ActiveRun, calls: readonly Call[], batch: BatchOf) => Promise<void>,
): Promise<readonly ToolResultPart[]> {
  const batch: BatchOf = { turn, size: parts.length, offered, failed: false }
  const calls: Call[] = []
  for (let i = 0; i < parts.length; i++) calls.push(new Call(run, parts[i] as ToolCallPart, i, batch))
  const content: ToolResultPart[] = []
  try {
    await work(run, calls, batch)
  } finally {
    for (const call of calls) {
      // Only what no gate and no execution answered: a run that is cancelled or fails.
      if (!call.stored) await answerCutOff(call)
      if (call.stored) content.push(call.stored)
    }
    const storing = run.append([freezeOuter({ role: 'tool', content: Object.freeze(content) })])
    if (storing) await storing
  }
  for (const { failure } of calls) if (failure) throw failure.error
  return content
}

async function tooLong(_: ActiveRun, calls: readonly Call[]): Promise<void> {
  const text = 'The call was not executed: the answer was cut off at its length limit. Make the call again, with less text.'
  for (const call of calls) await call.answer('error', errorResult(text))
}

async function interrupted(_: ActiveRun, calls: readonly Call[]): Promise<void> {
  const text = 'The call was not executed: a message of the user interrupted the answer.'
  for (const call of calls) await call.answer('cancelled', errorResult(text))
}

async function judgeAndCarryOut(run: ActiveRun, calls: readonly Call[], batch: BatchOf): Promise<void> {
  // Where nobody could have to wait for another there are no places to give.
  const slots = calls.length > run.toolConcurrency || calls.some(isLoner) ? new Slots(run.toolConcurrency) : undefined
  const open: (void | Promise<void>)[] = []
  const questions: (() => Promise<void>)[] = []
  /** Must the run end here? Then nothing starts any more. */
  const isEnding = (): boolean => run.ending || batch.failed
  /** A call's next gate. It never rejects, and gives nothing where the call is not to go on. */
  const gate = (call: Call, ask: (call: Call) => Ruling): Ruling => {
    if (isEnding()) return undefined
    const held = call.begin()
    return held ? held.then(() => rule(call, ask)) : rule(call, ask)
  }
  const start = (call: Call, { replaced }: Verdict): void | Promise<void> => {
    if (replaced) return carryOut(call, replaced)
    const task = (): void | Promise<void> => (isEnding() ? undefined : carryOut(call))
    return slots ? slots.run(isLoner(call), task) : task()
  }
  for (const call of calls) {
    const ruling = gate(call, judge)
    const verdict = ruling instanceof Promise ? await ruling : ruling
    if (!verdict) continue
    if (verdict.question) {
      questions.push(async () => {
        const answer = await gate(call, () => consult(call, verdict))
        if (answer) await start(call, answer)
      })
    } else if (verdict.replaced) {
      // There is nothing to run beside others: if its after_tool fails, none of those behind it starts.
      await start(call, verdict)
    } else open.push(start(call, verdict))
  }
  for (const question of questions) open.push(question())
  for (const done of open) await done
}

function isLoner({ tool }: Call): boolean {
  return tool?.parallel === false
}

/** What a gate says of a call. A failure of it is the call's. */
function rule(call: Call, ask: (call: Call) => Ruling): Ruling {
  const { run } = call
  try {
    run.check()
    const ruling = run.stopping === undefined ? ask(call) : call.answer('blocked', errorResult(run.stopping))
    return ruling instanceof Promise ? ruling.catch((error: unknown) => call.fail(error)) : ruling
  } catch (error) {
    return call.fail(error)
  }
}
