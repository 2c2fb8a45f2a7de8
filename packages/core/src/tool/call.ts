import { Unit } from '../chain/layer.ts'
import type { Layer } from '../chain/layer.ts'
import type { ErrorFacts, ToolStatus } from '../event/event.ts'
import type { JsonObject } from '../json.ts'
import { textOf } from '../message.ts'
import type { ToolCallPart, ToolResult, ToolResultPart } from '../message.ts'
import { factsOf } from '../run/active-run.ts'
import type { ActiveRun } from '../run/active-run.ts'
import type { Tool } from './define.ts'
import { capResult } from './serialise.ts'

/** Default caps of results, in UTF-16 characters: of one, and of all of a batch together. */
export const maxResultChars = 50_000
export const maxBatchChars = 200_000

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
export class Call {
  readonly run: ActiveRun
  readonly part: ToolCallPart
  readonly unit: Unit
  readonly index: number
  readonly batch: BatchOf
  /** Undefined for a tool that the request did not offer. */
  readonly tool: Tool | undefined
  args: JsonObject
  /** The validated arguments in the schema's output form, for the first execution; they belong to `validatedFor`. */
  output: unknown
  validatedFor: JsonObject | undefined
  /** Notes of layers, which reach the model with the result. */
  context = ''
  executed = false
  durationMs = 0
  /** The result as it is stored. */
  stored: ToolResultPart | undefined
  /** Why the run must fail because of this call. */
  failure: { readonly error: unknown } | undefined
  #begun = false
  #since = 0

  constructor(run: ActiveRun, part: ToolCallPart, index: number, batch: BatchOf) {
    this.run = run
    this.part = part
    this.batch = batch
    this.tool = batch.offered.find((tool) => tool.name === part.toolName)
    this.index = index
    this.args = part.args
    this.unit = new Unit(`tool:${batch.turn}:${index}`, batch.turn, part.callId, part.toolName)
  }

  get idempotencyKey(): string {
    return `${this.run.runId}:${this.unit.turn}:${this.index}`
  }

  /** The run must fail because of this call; the first reason counts. */
  fail(error: unknown): void {
    this.failure ??= { error }
    this.batch.failed = true
  }

  /** Announces the call, once. */
  async begin(): Promise<void> {
    if (this.#begun) return
    this.#begun = true
    this.#since = this.run.runtime.now()
    const { callId, toolName, args, rawArgs } = this.part
    await this.run.emit('tool_call_begin', { callId, toolName, args, ...capRaw(rawArgs), index: this.index }, this.unit)
  }

  addContext(context: string): void {
    if (context) this.context += this.context ? `\n${context}` : context
  }

  /** The call's one answer: capped, with the layers' notes, told at once; stored when the batch is done. */
  async answer(
    status: ToolStatus,
    result: ToolResult,
    { by, error }: { by?: Layer | undefined; error?: unknown } = {},
  ): Promise<void> {
    if (this.stored) return
    await this.begin()
    const { run, part, unit, args } = this
    const limit = Math.min(this.tool?.maxResultChars ?? maxResultChars, Math.floor(maxBatchChars / this.batch.size))
    const capped = capResult(result, limit)
    const content = this.context
      ? [...capped.content, { type: 'text' as const, text: this.context, added: true as const }]
      : capped.content
    this.stored = { type: 'tool_result', callId: part.callId, toolName: part.toolName, ...capped, content }
    await run.emit(
      'tool_result',
      {
        callId: part.callId,
        toolName: part.toolName,
        status,
        args,
        ...capRaw(part.rawArgs),
        content,
        isError: capped.isError,
        ...(capped.value === undefined ? {} : { value: capped.value }),
        durationMs: run.runtime.now() - this.#since,
        ...(by ? { by: by.name } : {}),
        ...(error !== undefined && capped.isError ? { error: this.#facts(error, status, capped) } : {}),
      },
      unit,
    )
  }

  /** Of a failed tool the text that layers and the cap left of it, so that nothing passes them by; of a failed check its own. */
  #facts(error: unknown, status: ToolStatus, result: ToolResult): ErrorFacts {
    const { callId, toolName } = this.part
    return { ...factsOf(error), ...(status === 'withheld' ? {} : { message: textOf(result) }), callId, toolName }
  }
}

function capRaw(rawArgs: string | undefined): { readonly rawArgs?: string } {
  return rawArgs === undefined ? {} : { rawArgs: rawArgs.slice(0, maxResultChars) }
}
