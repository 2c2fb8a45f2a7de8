import { isObject } from '../json.ts'
import type { ToolResult } from '../message.ts'
import { WorkSignal } from '../signal.ts'
import type { Call } from './call.ts'
import type { Tool } from './define.ts'
import type { Validated } from './schema.ts'
import { toJson, toResult } from './serialise.ts'
import { ToolContext } from './tool-context.ts'

/**
 * Innermost: the tool itself, with a ctx that is inert afterwards. What it gives at once is taken at once.
 *
 * @param own the signal that a layer put in place of the run's
 */
export async function invoke(call: Call, tool: Tool, attempt: number, own?: AbortSignal): Promise<ToolResult> {
  const { run } = call
  const { name, schema, execute, output, timeoutMs: ms } = tool
  run.check()
  own?.throwIfAborted()
  const limit = ms === undefined ? ms : { ms, error: () => call.error(`Tool '${name}' timed out after ${ms} ms`) }
  const work = new WorkSignal(run.cancellation, own, limit)
  const ctx = new ToolContext(call, work)
  /** What is there already is taken at once, unless its giver has ended the run or its own time. */
  const wait = <T>(given: T | PromiseLike<T>): T | Promise<T> => {
    if (isThenable(given)) return work.wait(given)
    if (run.cancellation.error) throw run.cancellation.error
    own?.throwIfAborted()
    return given
  }
  call.executed = true
  try {
    // Every execution gets arguments of its own, in the schema's output form.
    const args =
      attempt === 1 ? call.output : valid(call, await wait(schema.validate(call.args)), `Invalid arguments for '${name}'`)
    run.check()
    let value = wait(execute(args, ctx))
    if (value instanceof Promise) value = await value
    if (isGenerator(value)) value = await work.wait(drain(call, value, ctx))
    if (output) value = valid(call, await wait(output(value)), `Tool '${name}' returned an invalid value`)
    return toResult(value)
  } finally {
    ctx.close()
    work.dispose()
  }
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

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function'
}

function isGenerator(value: unknown): value is AsyncGenerator {
  return isObject(value) && Symbol.asyncIterator in value && typeof value['next'] === 'function'
}
