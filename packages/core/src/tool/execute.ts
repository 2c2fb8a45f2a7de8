import type { Layer } from '../chain/layer.ts'
import { Pass } from '../chain/pass.ts'
import type { Retry } from '../decision.ts'
import { setOrigin, toError } from '../errors.ts'
import type { ToolStatus } from '../event/event.ts'
import type { ToolResult } from '../message.ts'
import { pause } from '../run/attempts.ts'
import { interrupted } from '../session/repair.ts'
import type { Call } from './call.ts'
import type { Tool } from './define.ts'
import type { Replacement } from './gate.ts'
import { invoke } from './invoke.ts'
import { errorResult, toResult } from './serialise.ts'

interface Outcome {
  readonly result: ToolResult
  /** Default: what the result says of itself in the end. */
  readonly status?: ToolStatus
  readonly error?: unknown
  readonly by?: Layer | undefined
}

/** What stands in the history when after_tool failed: the tool has run, and its raw result is nobody's to see. */
const withheld = errorResult(
  'The call was carried out, but its result was withheld: a check of it failed. Do not make the call again.',
)

/**
 * Executes a call, or takes the result that a layer put in its place, sends it through after_tool and answers. It never rejects: a failure
 * of the run is kept in `call.failure`.
 */
export async function carryOut(call: Call, replaced?: Replacement): Promise<void> {
  const { run } = call
  const isChecked = run.chains.at.after_tool !== undefined
  try {
    for (let attempt = 1; ; attempt++) {
      const since = isChecked ? run.runtime.now() : 0
      let outcome = replaced ? replacement(replaced) : await executeOnce(call, attempt)
      if (isChecked && !('kind' in outcome))
        outcome = await check(call, outcome, attempt, replaced ? 0 : run.runtime.now() - since)
      if (!('kind' in outcome)) {
        const { result, status = result.isError ? 'error' : 'ok', by, error } = outcome
        const held = call.answer(status, result, by, error)
        return held && (await held)
      }
      const { delayMs = 0, reason = 'a layer asked for it' } = outcome
      await run.emit('retry', { attempt: attempt + 1, delayMs, reason, ...call.which }, call)
      await pause(run, delayMs, call)
    }
  } catch (error) {
    call.fail(error)
    await answerCutOff(call)
  }
}

/** Answers a call that will have no result of its own, because the run is cancelled or fails. */
export function answerCutOff(call: Call): void | Promise<void> {
  const { ending } = call.run
  if (call.executed) return ending ? call.answer('cancelled', interrupted(call.part)) : call.answer('withheld', withheld)
  const text = `The call was not executed: the run ${ending ? 'was cut off' : 'failed'}.`
  return call.answer(ending ? 'cancelled' : 'error', errorResult(text))
}

function replacement({ decision, by }: Replacement): Outcome {
  return { result: toResult(decision.result), status: 'replaced', by }
}

/** One pass through around_tool. A failure of the tool becomes what on_error says; a layer's own is thrown. */
async function executeOnce(call: Call, attempt: number): Promise<Outcome | Retry> {
  const { run } = call
  const tool = call.tool as Tool
  run.check()
  const chain = run.chains.at.around_tool
  const pass = chain && passAround(call, tool, attempt)
  try {
    return { result: pass ? toResult(await pass.enter(chain)) : await invoke(call, tool, attempt) }
  } catch (thrown) {
    if (run.cancellation.error) throw run.cancellation.error
    if (pass && pass.workError?.error !== thrown) throw thrown
    return await afterFailure(call, toError(thrown, `tool '${tool.name}'`), attempt)
  }
}

function passAround(call: Call, tool: Tool, attempt: number): Pass {
  const fields = call.fields({ signal: undefined, attempt, idempotencyKey: call.idempotencyKey })
  const pass: Pass = new Pass(call.run, 'around_tool', call, fields, () =>
    invoke(call, tool, attempt, pass.fields.signal as AbortSignal | undefined),
  )
  return pass
}

async function afterFailure(call: Call, error: Error, attempt: number): Promise<Outcome | Retry> {
  setOrigin(error, call.which)
  const decision = await call.run.askOnError({ error, phase: 'tool', attempt, toolCall: call.part }, call)
  if (decision?.kind === 'raise') throw decision.error
  if (decision?.kind === 'replace_result') return { ...replacement({ decision }), error }
  // Not the failure's own words, which no layer of after_tool has seen.
  if (decision?.kind === 'retry' && call.mayRetry(attempt)) return { reason: 'the tool failed', ...decision }
  return { result: errorResult(error.message || error.name), error }
}

/** A result on its way through after_tool. @returns what became of it, or why there must be another attempt */
async function check(call: Call, outcome: Outcome, attempt: number, durationMs: number): Promise<Outcome | Retry> {
  const { run, executed } = call
  const { result } = outcome
  try {
    // A failure of an event's layer is none of this call's; a cancel is.
    const asking = call.through('after_tool', { result, executed, durationMs }, { exit: true })
    const pass = asking instanceof Promise ? await asking : asking
    if (!pass) return outcome
    if (run.cancellation.error) throw run.cancellation.error
    const { decision, context, fields } = pass
    if (decision?.kind === 'retry' && executed && call.mayRetry(attempt)) return decision
    if (decision?.kind === 'stop') run.stopping ??= decision.reason
    call.addContext(context)
    return { ...outcome, result: toResult(fields.result) }
  } catch (error) {
    call.fail(error)
    return { result: withheld, status: 'withheld', error }
  }
}
