import { enter } from '../chain/compile.ts'
import type { Layer } from '../chain/layer.ts'
import { Pass } from '../chain/pass.ts'
import { setOrigin, toError, ToolError } from '../errors.ts'
import type { ToolStatus } from '../event/event.ts'
import type { ToolResult } from '../message.ts'
import { interrupted } from '../session/repair.ts'
import { WorkSignal } from '../signal.ts'
import type { TimeLimit } from '../signal.ts'
import { maxAttempts } from '../run/attempts.ts'
import type { Call } from './call.ts'
import type { Tool } from './define.ts'
import type { Validate } from './schema.ts'
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
  'The call was carried out, but its result was withheld because a check of it failed. Do not repeat the call.',
)

/**
 * Executes a call, or takes the result that a layer put in its place, sends it through after_tool and answers. It never rejects: a failure
 * of the run is kept in `call.failure`.
 */
export async function carryOut(
  call: Call,
  replaced?: { readonly result: unknown; readonly by: Layer | undefined },
): Promise<void> {
  try {
    for (let attempt = 1; ; attempt++) {
      const outcome = replaced ? replacement(replaced) : await executeOnce(call, attempt)
      if (outcome === 'again') continue
      const delayMs = await settle(call, outcome, attempt)
      if (delayMs === undefined) return
      await pause(call, delayMs)
    }
  } catch (error) {
    call.fail(error)
    await answerCutOff(call)
  }
}

/** Answers a call that will have no result of its own, because the run is cancelled or fails. */
export async function answerCutOff(call: Call): Promise<void> {
  if (call.stored) return
  const { run, part, executed } = call
  if (!executed) {
    const text = `The call was not executed, because the run ${run.ending ? 'was cut off' : 'failed'} before that.`
    return call.answer(run.ending ? 'cancelled' : 'error', errorResult(text))
  }
  const { content, isError } = interrupted(part)
  return run.ending ? call.answer('cancelled', { content, isError }) : call.answer('withheld', withheld)
}

function replacement({ result, by }: { readonly result: unknown; readonly by: Layer | undefined }): Outcome {
  return { result: toResult(result), status: 'replaced', by }
}

async function pause({ run }: Call, delayMs: number): Promise<void> {
  if (delayMs > 0) await run.cancellation.wait(run.runtime.sleep(delayMs))
  run.check()
}

/** One pass through around_tool. A failure of the tool becomes what on_error says; a layer's own is thrown. */
async function executeOnce(call: Call, attempt: number): Promise<Outcome | 'again'> {
  const { run, unit, part } = call
  const tool = call.tool as Tool
  run.check()
  const since = run.runtime.now()
  const fields = {
    toolCall: part,
    toolName: part.toolName,
    tool,
    args: call.args,
    signal: undefined,
    attempt,
    idempotencyKey: call.idempotencyKey,
  }
  const pass: Pass = new Pass(run, 'around_tool', unit, fields, () =>
    invoke(call, tool, attempt, pass.fields.signal as AbortSignal | undefined),
  )
  const chain = run.chains.at('around_tool')
  try {
    const result = toResult(await (chain ? enter(chain, pass) : pass.innermost()))
    return { result }
  } catch (thrown) {
    if (run.cancellation.error) throw run.cancellation.error
    if (pass.workError?.error !== thrown) throw thrown
    return await afterFailure(call, toError(thrown, `tool '${tool.name}'`), attempt)
  } finally {
    call.durationMs = run.runtime.now() - since
  }
}

async function afterFailure(call: Call, error: Error, attempt: number): Promise<Outcome | 'again'> {
  const { run, part, unit } = call
  setOrigin(error, { toolName: part.toolName, callId: part.callId })
  const decision = await run.askOnError({ error, phase: 'tool', attempt, toolCall: part }, unit)
  if (decision?.kind === 'raise') throw decision.error
  if (decision?.kind === 'replace_result') return { result: toResult(decision.result), status: 'replaced', error }
  if (decision?.kind === 'retry' && attempt < maxAttempts) {
    // Not the failure's own words, which no layer of after_tool has seen.
    await announceRetry(call, attempt, decision.delayMs ?? 0, decision.reason ?? 'the tool failed')
    await pause(call, decision.delayMs ?? 0)
    return 'again'
  }
  return { result: errorResult(error.message || error.name), error }
}

async function announceRetry({ run, unit, part }: Call, attempt: number, delayMs: number, reason: string): Promise<void> {
  await run.emit('retry', { callId: part.callId, toolName: part.toolName, attempt: attempt + 1, delayMs, reason }, unit)
}

/** @returns the delay before another attempt, in milliseconds, or undefined when the call has been answered */
async function settle(call: Call, { result, status, error, by }: Outcome, attempt: number): Promise<number | undefined> {
  const { run, unit, part, tool, args, executed, durationMs } = call
  let pass: Pass | undefined
  try {
    const fields = { result, toolCall: part, toolName: part.toolName, tool, args, executed, durationMs }
    // A failure of an event's layer is none of this call's; a cancel is.
    pass = await run.through('after_tool', unit, fields, { exit: true })
    if (pass && run.cancellation.error) throw run.cancellation.error
  } catch (failure) {
    call.fail(failure)
    await call.answer('withheld', withheld, { error: failure })
    return undefined
  }
  const decision = pass?.decision
  if (decision?.kind === 'retry' && attempt < maxAttempts && executed) {
    await announceRetry(call, attempt, decision.delayMs ?? 0, decision.reason ?? 'a layer asked for it')
    return decision.delayMs ?? 0
  }
  if (decision?.kind === 'stop') run.stopping ??= decision.reason
  if (pass) call.addContext(pass.context)
  const final = toResult(pass?.fields.result ?? result)
  await call.answer(status ?? (final.isError ? 'error' : 'ok'), final, { by, error })
  return undefined
}

/** Innermost: the tool itself. */
async function invoke(call: Call, tool: Tool, attempt: number, own: AbortSignal | undefined): Promise<ToolResult> {
  const { run } = call
  run.check()
  if (own?.aborted) throw own.reason as Error
  const work = new WorkSignal(run.cancellation, own, timeLimit(call, tool))
  const ctx = new ToolContext(call, work)
  call.executed = true
  try {
    return toResult(await work.wait(runTool(call, tool, attempt, ctx)))
  } finally {
    ctx.close()
    work.dispose()
  }
}

/** Every execution gets arguments of its own, in the schema's output form. */
async function freshArgs(call: Call, tool: Tool, attempt: number): Promise<unknown> {
  if (attempt === 1 && call.validatedFor === call.args) return call.output
  const checked = await tool.schema.validate(call.args)
  if (checked.ok) return checked.output
  throw toolError(call, `Invalid arguments for '${tool.name}': ${checked.issues}`)
}

function toolError({ part, run }: Call, message: string): ToolError {
  return new ToolError(part.toolName, part.callId, message, { runId: run.runId })
}

async function runTool(call: Call, tool: Tool, attempt: number, ctx: ToolContext): Promise<unknown> {
  const { execute, output } = tool
  const args = await freshArgs(call, tool, attempt)
  call.run.check()
  // Its time was up before it could start.
  if (!ctx.open) return undefined
  const value = await execute(args, ctx)
  const returned = isGenerator(value) ? await drain(call, value, ctx) : value
  return output ? checkOutput(call, tool, output, returned) : returned
}

/** What a generator yields is progress, what it returns the result. */
async function drain(call: Call, generator: AsyncGenerator, ctx: ToolContext): Promise<unknown> {
  while (ctx.open) {
    const next = await generator.next()
    if (next.done) return next.value
    if (ctx.open) await call.run.emitProgress(call.unit, toJson(next.value))
  }
  // Nobody waits for it any more: it may clean up, and does nothing else.
  return generator.return(undefined)
}

async function checkOutput(call: Call, { name }: Tool, output: Validate, value: unknown): Promise<unknown> {
  const checked = await output(value)
  if (checked.ok) return checked.output
  throw toolError(call, `Tool '${name}' returned an invalid value: ${checked.issues}`)
}

function isGenerator(value: unknown): value is AsyncGenerator {
  return (
    typeof value === 'object' &&
    value !== null &&
    Symbol.asyncIterator in value &&
    'next' in value &&
    typeof value.next === 'function'
  )
}

function timeLimit(call: Call, { name, timeoutMs: ms }: Tool): TimeLimit | undefined {
  return ms === undefined ? undefined : { ms, error: () => toolError(call, `Tool '${name}' timed out after ${ms} ms`) }
}
