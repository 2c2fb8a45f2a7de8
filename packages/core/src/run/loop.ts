import type { Chain } from '../chain/compile.ts'
import { Pass } from '../chain/pass.ts'
import { SessionBusyError } from '../errors.ts'
import { userMessage } from '../message.ts'
import type { Decision } from '../decision.ts'
import type { Input, Message } from '../message.ts'
import type { RunResult } from '../result.ts'
import { lockSession, queueForSession } from '../session/lock.ts'
import { repair } from '../session/repair.ts'
import { factsOf } from './active-run.ts'
import type { ActiveRun } from './active-run.ts'
import { endUnlessSteered, steered, takeIn } from './intake.ts'
import { startSession } from './session-start.ts'
import { deliver, runTurn } from './turn.ts'

/** How often on_stop may keep a run going. */
export const maxContinuations = 8

/**
 * The one loop behind `run()` and `stream()`: the run from run_begin to run_end.
 *
 * @throws the original error of a failed run; the RunCancelledError of a cancelled one, with what there was in its `result`
 */
export async function _runLoop(run: ActiveRun): Promise<RunResult> {
  const telling = run.emit('run_begin', { input: run.input })
  if (telling) await telling
  let release: () => void
  try {
    run.check()
    release = run.queueing ? await queueForSession(run, run.queueing) : lockSession(run.session, run.runId)
  } catch (error) {
    // A layer that observes events may have failed at run_begin: that is asked about, a session in use is not.
    const failure = error instanceof SessionBusyError ? error : await run.raised(error, 'hook')
    run.controller.decide()
    return finish(run, { error: failure })
  }
  const progress = { entered: false }
  let outcome: Outcome
  try {
    outcome = { result: await wholeRun(run, progress) }
    run.check()
  } catch (error) {
    outcome = { error: await run.raised(error, 'hook') }
  }
  run.controller.decide()
  if ('result' in outcome) outcome = { result: complete(run, outcome.result) }
  if (progress.entered && run.chains.at.after_run) outcome = await afterRun(run, outcome)
  await run.handle.close()
  release()
  return finish(run, outcome)
}

/** What a run came to. The error of a cancelled or failed one stays what it is. */
type Outcome = { readonly result: RunResult } | { readonly error: unknown }

/** A result that a layer made may not know what was left undelivered. */
function complete({ controller: { undelivered } }: ActiveRun, result: RunResult): RunResult {
  return undelivered && !result.undelivered ? Object.freeze({ ...result, undelivered }) : result
}

async function wholeRun(run: ActiveRun, progress: { entered: boolean }): Promise<RunResult> {
  const mending = mendSession(run)
  if (mending) await mending
  const starting = startSession(run)
  const notes = starting instanceof Promise ? await starting : starting
  progress.entered = true
  const decision = run.chains.at.before_run && (await beforeRun(run))
  if (decision?.kind === 'deny') return run.end('denied', decision.reason)
  const answer = decision?.kind === 'replace_result' ? (decision.result as Input) : undefined
  const work = (): Promise<RunResult> => turns(run, notes, answer)
  // A failure is asked about within its layers; without them the loop does that.
  const chain = run.chains.at.around_run
  return chain ? aroundRun(run, chain, work) : work()
}

async function beforeRun(run: ActiveRun): Promise<Decision | undefined> {
  const pass = await run.through('before_run', run.unit, { maxTurns: run.maxTurns, session: run.handle.session })
  if (pass) run.maxTurns = pass.fields.maxTurns as number
  return pass?.decision
}

/** A history that an earlier process left half-written is made whole before anything reads it. */
function mendSession(run: ActiveRun): void | Promise<void> {
  // A session that goes with its run begins with it.
  if (run.ownSession) return
  const { messages } = run.session
  const whole = repair(messages)
  if (whole !== messages) return replaceBy(run, whole)
}

async function replaceBy(run: ActiveRun, whole: readonly Message[]): Promise<void> {
  try {
    await run.handle.replace(whole)
  } catch (error) {
    throw await run.raised(error, 'session')
  }
}

async function aroundRun(run: ActiveRun, chain: Chain, work: () => Promise<RunResult>): Promise<RunResult> {
  const guarded = async (): Promise<RunResult> => {
    try {
      return await work()
    } catch (error) {
      throw await run.raised(error, 'hook')
    }
  }
  const pass: Pass = new Pass(run, 'around_run', run.unit, { signal: undefined }, () => {
    const signal = pass.fields.signal as AbortSignal | undefined
    return signal ? run.under(signal, guarded) : guarded()
  })
  return (await pass.enter(chain)) as RunResult
}

async function turns(run: ActiveRun, notes: readonly Message[], answer: Input | undefined): Promise<RunResult> {
  const denied = await takeIn(run, run.input, 'run', notes)
  if (denied !== undefined) return run.end('denied', denied)
  if (answer !== undefined) {
    await deliver(run, run.unit, answer)
    return run.end('completed')
  }
  for (let turn = 0; turn < run.maxTurns; turn++) {
    run.check()
    if (run.controller.steering) await steered(run)
    const end = await runTurn(run, turn)
    if (end.kind === 'denied') return run.end('denied', end.reason)
    if (run.stopping !== undefined) return run.end('stopped', run.stopping)
    if (end.kind === 'replaced') return run.end('completed')
    if (end.kind === 'answered' || end.kind === 'interrupted') {
      const isLast = turn + 1 >= run.maxTurns
      const stopped = await (end.kind === 'answered' ? mayStop(run, isLast) : afterInterruption(run, isLast))
      if (stopped) return stopped
    }
  }
  return run.end('max_turns', `the limit of ${run.maxTurns} turns was reached`)
}

/** A step was interrupted. Where the word that did it was refused and the answer's beginning is the last message, a model has nothing to answer. */
function afterInterruption(run: ActiveRun, isLast: boolean): RunResult | undefined | Promise<RunResult | undefined> {
  return endUnlessSteered(run, isLast, () =>
    run.session.messages.at(-1)?.role === 'assistant'
      ? run.end('stopped', 'interrupted by a message that was denied')
      : undefined,
  )
}

/** The model has answered. @returns the result, unless a layer or a person keeps the run going */
async function mayStop(run: ActiveRun, isLast: boolean): Promise<RunResult | undefined> {
  const stop = (reason?: string): RunResult | undefined | Promise<RunResult | undefined> =>
    endUnlessSteered(run, isLast, () => run.end('completed', reason))
  if (!run.chains.at.on_stop) return stop()
  const { continuations } = run
  const pass = await run.through('on_stop', run.unit, {
    result: run.result('completed'),
    stopHookActive: continuations > 0,
    continuations,
  })
  const decision = pass?.decision
  if (decision?.kind !== 'continue_run') return stop(decision?.kind === 'stop' ? decision.reason : undefined)
  if (continuations >= maxContinuations) return run.end('stopped', 'capped')
  run.continuations++
  const denied = await takeIn(run, userMessage(decision.message), 'continue_run')
  return denied === undefined ? undefined : stop()
}

async function afterRun(run: ActiveRun, outcome: Outcome): Promise<Outcome> {
  const result = 'result' in outcome ? outcome.result : failedResult(run, outcome.error)
  try {
    const pass = await run.through('after_run', run.unit, { result }, { exit: true })
    // A result that a layer makes of a failure changes nothing: what was thrown is thrown.
    return pass && 'result' in outcome ? { result: complete(run, pass.fields.result as RunResult) } : outcome
  } catch (error) {
    return 'result' in outcome ? { error: await run.raised(error, 'hook') } : outcome
  }
}

function failedResult(run: ActiveRun, error: unknown): RunResult {
  const { cancellation } = run
  if (cancellation.cancelled && error === cancellation.error) return run.result('cancelled', factsOf(error).message)
  return run.result('failed', factsOf(error).message)
}

/** The last events, and the run's end for its caller. */
async function finish(run: ActiveRun, outcome: Outcome): Promise<RunResult> {
  const result = 'result' in outcome ? outcome.result : failedResult(run, outcome.error)
  if (result.status === 'cancelled') await run.emit('run_cancelled', { reason: result.reason ?? '' })
  else if ('error' in outcome) await run.emit('error', { error: factsOf(outcome.error) })
  const { status, reason, text, usage, turns: count } = result
  const telling = run.emit('run_end', { status, text, usage, turns: count, ...(reason !== undefined && { reason }) })
  if (telling) await telling
  run.logUnheard('error' in outcome ? outcome.error : undefined)
  if ('result' in outcome) return result
  const { error } = run.cancellation
  if (error && outcome.error === error) Object.defineProperty(error, 'result', { value: result, configurable: true })
  throw outcome.error
}
