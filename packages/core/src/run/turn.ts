import { Unit } from '../chain/layer.ts'
import type { EventFields } from '../event/event.ts'
import { deepFreeze } from '../freeze.ts'
import type { StepRequest } from '../hooks.ts'
import { callsOf, textOf, userMessage } from '../message.ts'
import type { AssistantMessage, Input, ToolResultPart } from '../message.ts'
import { noUsage } from '../model.ts'
import type { LLMStep } from '../model.ts'
import type { TurnResult, TurnStatus } from '../result.ts'
import { Step } from '../step/step.ts'
import { cutOff, runTools } from '../tool/batch.ts'
import type { ActiveRun } from './active-run.ts'
import { steered } from './intake.ts'

/** How the run goes on after a turn. */
export type TurnEnd =
  /** The model sees the tools' results. */
  | { readonly kind: 'next' }
  /** The model gave its answer. */
  | { readonly kind: 'answered' }
  | { readonly kind: 'denied'; readonly reason: string }
  /** A person did not let the model finish, and none of its calls was executed. */
  | { readonly kind: 'interrupted' }
  /** A layer gave the answer. */
  | { readonly kind: 'replaced' }

interface Progress {
  message?: AssistantMessage
  toolResults: readonly ToolResultPart[]
}

/** One turn: before_turn, one LLM step, its tools, after_turn. However it ends, turn_begin has its turn_end and before_turn its after_turn. */
export async function runTurn(run: ActiveRun, turn: number): Promise<TurnEnd> {
  const unit = new Unit(`turn:${turn}`, turn)
  const progress: Progress = { toolResults: [] }
  run.unit.turn = turn
  let begun = false
  let end: TurnEnd
  try {
    const answer = run.chains.at.before_turn && (await beforeTurn(run, unit))
    if (answer) end = answer
    else {
      begun = true
      run.turns++
      const telling = run.emit('turn_begin', {}, unit)
      if (telling) await telling
      run.check()
      if (run.controller.steering) await steered(run)
      end = await stepAndTools(run, turn, progress)
    }
  } catch (error) {
    await close(run, unit, begun, progress, run.cancelled ? 'cancelled' : 'failed')
    throw error
  }
  const closing = close(run, unit, begun, progress, statusOf(run, end))
  if (closing) await closing
  run.check()
  return end
}

function statusOf(run: ActiveRun, end: TurnEnd): TurnStatus {
  if (end.kind === 'denied') return 'denied'
  return run.stopping === undefined ? 'completed' : 'stopped'
}

async function beforeTurn(run: ActiveRun, unit: Unit): Promise<TurnEnd | undefined> {
  const asking = run.through('before_turn', unit, { maxTurns: run.maxTurns, session: run.handle.session })
  const pass = asking instanceof Promise ? await asking : asking
  if (!pass) return undefined
  run.maxTurns = pass.fields.maxTurns as number
  const { decision } = pass
  if (decision?.kind === 'deny') return { kind: 'denied', reason: decision.reason }
  if (decision?.kind !== 'replace_result') return undefined
  await deliver(run, unit, decision.result as Input)
  return { kind: 'replaced' }
}

/** An answer that a layer gives in place of the model: told, and stored as the assistant's. */
export async function deliver(run: ActiveRun, unit: Unit, output: Input): Promise<void> {
  const content = userMessage(output).content.filter((part) => part.type === 'text')
  const message: AssistantMessage = { role: 'assistant', content }
  run.text = textOf(message)
  if (run.text !== '') await run.emit('text_delta', { text: run.text }, unit)
  await run.append([message])
}

function close(run: ActiveRun, unit: Unit, begun: boolean, progress: Progress, status: TurnStatus): void | Promise<void> {
  const telling = begun ? run.emit('turn_end', { status }, unit) : undefined
  if (telling || run.chains.at.after_turn) return afterTurn(run, unit, progress, status, telling)
}

async function afterTurn(
  run: ActiveRun,
  unit: Unit,
  { message, toolResults }: Progress,
  status: TurnStatus,
  told: void | Promise<void>,
): Promise<void> {
  await told
  const result: TurnResult = deepFreeze({ turn: unit.turn, status, ...(message ? { message } : {}), toolResults })
  try {
    const asking = run.through('after_turn', unit, { result, maxTurns: run.maxTurns }, { exit: true })
    const pass = asking instanceof Promise ? await asking : asking
    if (!pass) return
    run.maxTurns = pass.fields.maxTurns as number
    if (pass.decision?.kind === 'stop') run.stopping ??= pass.decision.reason
  } catch (error) {
    // What ended the turn counts; hook_error has told this one.
    if (status !== 'cancelled' && status !== 'failed') throw error
  }
}

async function stepAndTools(run: ActiveRun, turn: number, progress: Progress): Promise<TurnEnd> {
  const unit = new Unit(`llm:${turn}`, turn)
  run.beginStep(unit)
  const telling = run.emit('step_begin', { stepId: unit.op, attempt: 1 }, unit)
  if (telling) await telling
  const step = new Step(run, unit, run.request(unit))
  const end = (fields: Omit<EventFields['step_end'], 'stepId' | 'attempt'>): void | Promise<void> =>
    run.emit('step_end', { stepId: unit.op, attempt: step.attempt, ...fields }, unit)
  let answer: LLMStep
  let offered: StepRequest['tools'] | undefined
  try {
    try {
      run.check(unit)
      const outcome = await step.take()
      if ('denied' in outcome) {
        run.endStep(unit)
        await end({ status: 'denied', usage: noUsage })
        return { kind: 'denied', reason: outcome.denied }
      }
      answer = outcome.step
      offered = outcome.request.tools
    } catch (error) {
      answer = await step.salvage(error)
    }
  } catch (error) {
    run.endStep(unit)
    await keep(run, step.partial, progress)
    await end({
      status: run.cancelled ? 'cancelled' : 'failed',
      ...(progress.message ? { message: progress.message } : {}),
      usage: noUsage,
    })
    if (progress.message) progress.toolResults = await cutOff(run, turn, callsOf(progress.message), false)
    throw error
  }
  const { message, toolCalls, finishReason, usage } = answer
  const isEmpty = message.content.length === 0 && !offered
  try {
    const storing = isEmpty ? undefined : run.append([message])
    if (storing) await storing
  } catch (error) {
    run.endStep(unit)
    await end({ status: 'failed', finishReason, usage })
    throw error
  }
  run.endStep(unit)
  const isCut = !offered || (unit.isInterrupted && toolCalls.length > 0)
  if (isEmpty) {
    await end({ status: 'interrupted', usage })
    return { kind: 'interrupted' }
  }
  progress.message = message
  run.text = textOf(message)
  const { attempt } = step
  const status = isCut ? 'interrupted' : 'completed'
  const ending = run.emit('step_end', { stepId: unit.op, attempt, status, message, finishReason, usage }, unit)
  if (ending) await ending
  if (isCut || !offered) {
    progress.toolResults = await cutOff(run, turn, toolCalls, true)
    return { kind: 'interrupted' }
  }
  if (toolCalls.length === 0) return { kind: 'answered' }
  try {
    progress.toolResults = await runTools(run, turn, answer, offered)
  } catch (error) {
    const stored = run.added.at(-1)
    if (stored?.role === 'tool') progress.toolResults = stored.content
    throw error
  }
  return { kind: 'next' }
}

/** A step that ended early keeps what was complete. What ended it counts, also when the session cannot be written. */
async function keep(run: ActiveRun, message: AssistantMessage | undefined, progress: Progress): Promise<void> {
  if (!message) return
  try {
    await run.append([message])
    progress.message = message
    run.text = textOf(message)
  } catch (error) {
    run.log('the part of an answer that there was could not be stored:', error)
  }
}
