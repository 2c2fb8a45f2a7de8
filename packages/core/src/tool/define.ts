import { ConfigError } from '../errors.ts'
import type { JsonObject } from '../json.ts'
import type { Message } from '../message.ts'
import type { StateKey } from '../state.ts'
import { toSchema, toValidate } from './schema.ts'
import type { Schema, StandardSchemaLike, Validate } from './schema.ts'

/** What a tool gets beside its arguments. Once the call has ended, what a straggler emits or sets is dropped. */
export interface ToolCtx {
  readonly callId: string
  readonly toolName: string
  readonly runId: string
  /** 0-based. */
  readonly turn: number
  /** Aborts when the run is cancelled or the call's time is up. */
  readonly signal: AbortSignal
  /** What the caller gave the run. Frozen. */
  readonly metadata: unknown
  /** The same for every attempt at this call: run, turn and position. */
  readonly idempotencyKey: string
  readonly session: { readonly id: string; readonly messages: readonly Message[] }
  get<T>(key: StateKey<T>): T
  set<T>(key: StateKey<T>, value: NoInfer<T>): void
  update<T>(key: StateKey<T>, reducer: (value: T) => NoInfer<T>): T
  /** Reports progress to whoever follows the run. Await it to go no faster than they read. */
  progress(data: unknown): void | Promise<void>
  /** Puts a `custom` event into the run's stream and returns at once. */
  emit(name: string, data: unknown): void
}

/** What `defineTool` takes. `Input` is a Standard Schema with its JSON Schema, or a JSON Schema. */
export interface ToolOptions<Input extends StandardSchemaLike | JsonObject> {
  /** Unique in an agent. Any characters: a name that a provider would refuse is mapped on the way out and back. */
  readonly name: string
  /** Tells the model what it does and when to use it. */
  readonly description: string
  readonly input: Input
  /** Checks what `execute` returns. An invalid value becomes an error result; a valid one is used in the schema's output form. */
  readonly output?: StandardSchemaLike | JsonObject
  /**
   * Does the work. `args` is in the schema's output form (defaults and transforms applied) and belongs to this call.
   * Returns any value or a promise of one, or is an async generator: its yields are progress, its return value is the result.
   * Throws for a failure, which the model sees as an error result.
   */
  readonly execute: (this: void, args: ArgsOf<Input>, ctx: ToolCtx) => unknown
  /** May it run beside other calls of the same batch? Default true; false makes it run alone. */
  readonly parallel?: boolean
  /** Does a second execution of one call do no harm? Only then is a call tried again that somebody was asked about. Default false. */
  readonly idempotent?: boolean
  /**
   * Must somebody say yes before it runs? It counts where no middleware has an opinion, and an `allow` of one answers it. A predicate gets the arguments as
   * `execute` does, and must not change them; one that fails means yes. Default false.
   */
  readonly needsApproval?: boolean | ((this: void, args: ArgsOf<Input>) => boolean | Promise<boolean>)
  /** Time limit of one execution, in milliseconds. Default: none. */
  readonly timeoutMs?: number
  /** Size limit of the result's text, in UTF-16 characters. Default: the agent's. */
  readonly maxResultChars?: number
}

/** What `execute` gets: the output form of a Standard Schema, a `JsonObject` for a JSON Schema. */
export type ArgsOf<Input> = Input extends StandardSchemaLike<infer Output> ? Output : JsonObject

/** A tool, whatever its arguments. Made by `defineTool`; frozen. */
export interface Tool {
  readonly name: string
  readonly description: string
  readonly schema: Schema
  readonly output?: Validate
  /** Contract: called with validated arguments only. */
  readonly execute: (this: void, args: unknown, ctx: ToolCtx) => unknown
  readonly parallel: boolean
  readonly idempotent: boolean
  readonly needsApproval: boolean | ((this: void, args: unknown) => boolean | Promise<boolean>)
  readonly timeoutMs?: number
  readonly maxResultChars?: number
}

/**
 * Makes a tool. The type of `args` follows from `input`.
 *
 * @throws ConfigError that names the tool and the option that is wrong.
 *
 * @example
 * const read = defineTool({
 *   name: 'read_file',
 *   description: 'Reads a text file.',
 *   input: z.object({ path: z.string(), lines: z.number().default(100) }),
 *   execute: ({ path, lines }) => readHead(path, lines),
 * })
 */
export function defineTool<Input extends StandardSchemaLike | JsonObject>(options: ToolOptions<Input>): Tool {
  const { input, output, parallel = true, idempotent = false, needsApproval = false, ...rest } = options
  const { name, description, execute, timeoutMs, maxResultChars } = rest
  if (typeof name !== 'string' || !name) throw new ConfigError('a tool needs a name')
  if (typeof description !== 'string') throw new ConfigError(`tool '${name}' needs a description, for the model`)
  if (typeof execute !== 'function') throw new ConfigError(`tool '${name}' needs execute(args, ctx)`)
  if (typeof needsApproval !== 'boolean' && typeof needsApproval !== 'function')
    throw new ConfigError(`tool '${name}': needsApproval is true, false or a function of the arguments`)
  for (const [option, value] of Object.entries({ timeoutMs, maxResultChars })) {
    if (value !== undefined && !(Number.isFinite(value) && value > 0))
      throw new ConfigError(`tool '${name}': ${option} is ${value}, and must be a finite number above 0`)
  }
  return Object.freeze({
    ...rest,
    execute: execute as Tool['execute'],
    schema: toSchema(input, name),
    ...(output !== undefined && { output: toValidate(output, name) }),
    parallel,
    idempotent,
    needsApproval: needsApproval as Tool['needsApproval'],
  })
}
