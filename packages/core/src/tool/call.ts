import { Unit } from '../chain/layer.ts'
import type { Layer } from '../chain/layer.ts'
import type { Pass } from '../chain/pass.ts'
import { ToolError } from '../errors.ts'
import type { CallFields, EventFields, ToolStatus } from '../event/event.ts'
import { deepFreeze } from '../freeze.ts'
import type { Open } from '../freeze.ts'
import type { Point } from '../hooks.ts'
import type { JsonObject } from '../json.ts'
import { textOf } from '../message.ts'
import type { TextPart, ToolCallPart, ToolResult, ToolResultPart } from '../message.ts'
import { factsOf } from '../run/active-run.ts'
import type { ActiveRun } from '../run/active-run.ts'
import { maxAttempts } from '../run/attempts.ts'
import type { Tool } from './define.ts'
import { capResult } from './serialise.ts'

/** Default caps of results, in UTF-16 characters: of one, and of all of a batch together. */
export const maxResultChars = 50_000
const maxBatchChars = 200_000

/** What the calls of one step share. */
export interface BatchOf {
  readonly turn: number
  readonly size: number
  /** The tools of the request that the calls came from. */
  readonly offered: readonly Tool[]
  /** Set by the first call for which the run must fail: then no other starts any more. */
  failed: boolean
}

/** One tool call on its way from the model's wish to its one result. */
export class Call extends Unit {
  readonly run: ActiveRun
  readonly part: ToolCallPart
  readonly index: number
  readonly batch: BatchOf
  /** Undefined for a tool that the request did not offer. */
  readonly tool: Tool | undefined
  args: JsonObject
  /** The validated arguments in the schema's output form, for the first execution. */
  output: unknown
  /** Notes of layers, which reach the model with the result. */
  context = ''
  /** Somebody was asked about it and said yes: to one execution, unless the tool is idempotent. */
  approved = false
  executed = false
  /** The result as it is stored. */
  stored: ToolResultPart | undefined
  /** Why the run must fail because of this call. */
  failure: { readonly error: unknown } | undefined
  #since: number | undefined

  constructor(run: ActiveRun, part: ToolCallPart, index: number, batch: BatchOf) {
    super(`tool:${batch.turn}:${index}`, batch.turn, part.callId, part.toolName)
    this.run = run
    this.part = part
    this.batch = batch
    this.tool = named(part.toolName, batch.offered)
    this.index = index
    this.args = part.args
  }

  get idempotencyKey(): string {
    return `${this.run.runId}:${this.turn}:${this.index}`
  }

  /** What its events carry. */
  get which(): CallFields {
    const { callId, toolName } = this.part
    return { callId, toolName }
  }

  /** What its hooks get, and what those of one point get besides. */
  fields(more?: Record<string, unknown>): Record<string, unknown> {
    const { part, tool, args } = this
    return { toolCall: part, toolName: part.toolName, tool, args, ...more }
  }

  /** Sends it through the layers of a point. */
  through(
    point: Point,
    more?: Record<string, unknown>,
    options?: Parameters<ActiveRun['through']>[3],
  ): Pass | Promise<Pass> | undefined {
    return this.run.chains.at[point] && this.run.through(point, this, this.fields(more), options)
  }

  error(message: string): ToolError {
    const { callId, toolName } = this.part
    return new ToolError(toolName, callId, message, { runId: this.run.runId })
  }

  /** May it be executed once more after this attempt? */
  mayRetry(attempt: number): boolean {
    return attempt < maxAttempts && (!this.approved || this.tool?.idempotent === true)
  }

  /** The run must fail because of this call; the first reason counts. */
  fail(error: unknown): void {
    this.failure ??= { error }
    this.batch.failed = true
  }

  /** Announces the call, once. */
  begin(): void | Promise<void> {
    if (this.#since !== undefined) return
    this.#since = this.run.heard ? this.run.runtime.now() : 0
    const { callId, toolName } = this.part
    return this.#tell('tool_call_begin', { callId, toolName, args: this.args, index: this.index })
  }

  #tell<T extends 'tool_call_begin' | 'tool_result'>(
    type: T,
    fields: EventFields[T] & { rawArgs?: string },
  ): void | Promise<void> {
    const { rawArgs } = this.part
    if (rawArgs !== undefined) fields.rawArgs = rawArgs.slice(0, maxResultChars)
    return this.run.emit(type, fields, this)
  }

  addContext(context: string): void {
    if (context) this.context += this.context ? `\n${context}` : context
  }

  /** The call's one answer: capped, with the layers' notes, told at once; stored when the batch is done. */
  answer(status: ToolStatus, result: ToolResult, by?: Layer, error?: unknown): void | Promise<void> {
    if (this.stored) return
    void this.begin()
    const { run, tool, context, args } = this
    const { callId, toolName } = this.part
    const limit = Math.min(tool?.maxResultChars ?? maxResultChars, Math.floor(maxBatchChars / this.batch.size))
    const capped = capResult(result, limit)
    const { isError, value } = capped
    const content = context ? deepFreeze([...capped.content, noted(context)]) : capped.content
    const stored: Open<ToolResultPart> = { type: 'tool_result', callId, toolName, content, isError }
    if (value !== undefined) stored.value = value
    this.stored = Object.freeze(stored)
    if (!run.heard) return
    const durationMs = run.runtime.now() - (this.#since ?? 0)
    const told: Open<EventFields['tool_result']> = { callId, toolName, status, args, content, isError, durationMs }
    if (value !== undefined) told.value = value
    if (by) told.by = by.name
    if (error !== undefined && isError) {
      // Of a failed tool the text that layers and the cap left of it, so that nothing passes them by; of a failed check its own.
      const message = status !== 'withheld' && { message: textOf(capped) }
      told.error = { ...factsOf(error), ...message, callId, toolName }
    }
    return this.#tell('tool_result', told)
  }
}

/** By index: methods of frozen arrays are several times slower. */
function named(name: string, tools: readonly Tool[]): Tool | undefined {
  for (let i = 0; i < tools.length; i++) if (tools[i]?.name === name) return tools[i]
  return undefined
}

function noted(text: string): TextPart {
  return { type: 'text', text, added: true }
}
