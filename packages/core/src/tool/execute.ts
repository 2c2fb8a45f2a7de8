import type { Layer } from '../chain/layer.ts'
import { Pass } from '../chain/pass.ts'
import type { Retry } from '../decision.ts'
import { setOrigin, toError } from '../errors.ts'
import type { ToolStatus } from '../event/event.ts'
import { isObject } from '../json.ts'
import type { ToolResult } from '../message.ts'
import { around, pause } from '../run/attempts.ts'
import { interrupted } from '../session/repair.ts'
import { WorkSignal } from '../signal.ts'
import type { Call } from './call.ts'
import type { Tool } from './define.ts'
import type { Replacement } from './gate.ts'
import type { Validated } from './schema.ts'
import { errorResult, toJson, toResult } from './serialise.ts'
import { ToolContext } from './tool-context.ts'

interface Outcome {
  readonly result: ToolResult
  /** Default: what the result says of itself in the end. */
  readonly status?: ToolStatus
  readonly error?: Error
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
  try {
    for (let attempt = 1; ; attempt++) {
      const outcome = replaced ? replacement(replaced) : await executeOnce(call, attempt)
      const retry = 'kind' in outcome ? outcome : await settle(call, outcome, attempt)
      if (!retry) return
      const { delayMs = 0, reason = 'a layer asked for it' } = retry
      await call.run.emit('retry', { ...call.which, attempt: attempt + 1, delayMs, reason }, call)
      await pause(call.run, delayMs)
    }
  } catch (error) {
    call.fail(error)
    await answerCutOff(call)
  }
}

/** Answers a call that will have no result of its own, because the run is cancelled or fails. */
export function answerCutOff(call: Call): Promise<undefined> {
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
  const { run, idempotencyKey } = call
  const tool = call.tool as Tool
  run.check()
  const since = run.runtime.now()
  const fields = { ...call.fields, signal: undefined, attempt, idempotencyKey }
  const pass: Pass = new Pass(run, 'around_tool', call, fields, () =>
    invoke(call, tool, attempt, pass.fields.signal as AbortSignal | undefined),
  )
  try {
    return { result: toResult(await around(pass)) }
  } catch (thrown) {
    if (run.cancellation.error) throw run.cancellation.error
    if (!pass.isWorkError(thrown)) throw thrown
    return await afterFailure(call, toError(thrown, `tool '${tool.name}'`), attempt)
  } finally {
    call.durationMs = run.runtime.now() - since
  }
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

/** A result on its way through after_tool. @returns why there must be another attempt, or undefined when the call has been answered */
async function settle(call: Call, outcome: Outcome, attempt: number): Promise<Retry | undefined> {
  const { run, executed, durationMs } = call
  let { result } = outcome
  let pass: Pass | undefined
  try {
    // A failure of an event's layer is none of this call's; a cancel is.
    pass = await call.through('after_tool', { result, executed, durationMs }, { exit: true })
    if (pass && run.cancellation.error) throw run.cancellation.error
  } catch (failure) {
    call.fail(failure)
    return call.answer('withheld', withheld, undefined, failure)
  }
  if (pass) {
    const { decision, context, fields } = pass
    if (decision?.kind === 'retry' && executed && call.mayRetry(attempt)) return decision
    if (decision?.kind === 'stop') run.stopping ??= decision.reason
    call.addContext(context)
    result = toResult(fields.result)
  }
  return call.answer(outcome.status ?? (result.isError ? 'error' : 'ok'), result, outcome.by, outcome.error)
}

/** Innermost: the tool itself. */
async function invoke(call: Call, tool: Tool, attempt: number, own: AbortSignal | undefined): Promise<ToolResult> {
  const { run } = call
  run.check()
  own?.throwIfAborted()
  const { timeoutMs: ms } = tool
  const limit = ms === undefined ? ms : { ms, error: () => call.error(`Tool '${tool.name}' timed out after ${ms} ms`) }
  const work = new WorkSignal(run.cancellation, own, limit)
  const ctx = new ToolContext(call, work)
  call.executed = true
  try {
    return toResult(await work.wait(runTool(call, tool, attempt, ctx)))
  } finally {
    ctx.close()
    work.dispose()
  }
}

async function runTool(call: Call, tool: Tool, attempt: number, ctx: ToolContext): Promise<unknown> {
  const { name, schema, execute, output } = tool
  // Every execution gets arguments of its own, in the schema's output form.
  const args = attempt === 1 ? call.output : valid(call, await schema.validate(call.args), `Invalid arguments for '${name}'`)
  call.run.check()
  // Its time was up before it could start.
  if (!ctx.open) return undefined
  const value = await execute(args, ctx)
  const returned = isGenerator(value) ? await drain(call, value, ctx) : value
  return output ? valid(call, await output(returned), `Tool '${name}' returned an invalid value`) : returned
}

function valid(call: Call, checked: Validated, otherwise: string): unknown {
  if (checked.ok) return checked.output
  throw call.error(`${otherwise}: ${checked.issues}`)
}

/** What a generator yields is progress, what it returns the result. */
async function drain(call: Call, generator: AsyncGenerator, ctx: ToolContext): Promise<unknown> {
  while (ctx.open && !call.run.ending) {
    const next = await generator.next()
    if (next.done) return next.value
    if (ctx.open) await call.run.emitProgress(call, toJson(next.value))
  }
  // Nobody waits for it any more: it may clean up, and does nothing else.
  return generator.return(undefined)
}

function isGenerator(value: unknown): value is AsyncGenerator {
  return isObject(value) && Symbol.asyncIterator in value && typeof value['next'] === 'function'
}
