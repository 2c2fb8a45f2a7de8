import { Chains } from './chain/compile.ts'
import type { Layer } from './chain/layer.ts'
import { RunController } from './controller.ts'
import { ConfigError, messageOf } from './errors.ts'
import { EventQueue } from './event/queue.ts'
import { Sanitizer } from './event/sanitizer.ts'
import { deepFreeze, frozenCopy } from './freeze.ts'
import type { Input, UserMessage } from './message.ts'
import { arrange, checkTools } from './middleware/arrange.ts'
import type { AnyMiddleware, MetaOfAll, MiddlewareList } from './middleware/middleware.ts'
import type { Model } from './model.ts'
import type { RunResult } from './result.ts'
import { ActiveRun } from './run/active-run.ts'
import type { AgentParts, RunParts } from './run/active-run.ts'
import { _runLoop } from './run/loop.ts'
import { Run } from './run/run.ts'
import type { Waiting } from './run/waiting.ts'
import { endSession } from './run/session-start.ts'
import { defaultRuntime } from './runtime.ts'
import type { Logger, RuntimeOptions } from './runtime.ts'
import { memorySession } from './session/session.ts'
import { checkInput } from './session/shape.ts'
import type { Session } from './session/session.ts'
import type { Tool } from './tool/define.ts'

/**
 * A run that waits for a person: until `controller.approve` or `controller.deny`, or until the time is over (`timeoutMs`, default 10 minutes), which denies.
 */
export type Approvals = 'wait' | { readonly mode: 'wait'; readonly timeoutMs: number }

/** What an agent is made of. */
export interface AgentOptions<Metas extends readonly unknown[] = readonly unknown[]> {
  /** Default 'agent'. */
  readonly name?: string
  readonly version?: string
  /** The system text of every request. */
  readonly instructions?: string
  readonly model: Model
  readonly tools?: readonly Tool[]
  /** The onion, outermost first. */
  readonly middleware?: MiddlewareList<Metas>
  /** LLM steps a run may take. Default 20. */
  readonly maxTurns?: number
  /** Tools that may run at the same time. Default: no limit. */
  readonly toolConcurrency?: number
  /** Tell by `hook_applied` events what each layer changed or decided. Default false. */
  readonly trace?: boolean
  /** Whom to ask what a layer or a tool wants a person to decide. Default: nobody, and such calls are denied. */
  readonly approvals?: Approvals
  readonly runtime?: RuntimeOptions
  /** Default: the console. */
  readonly logger?: Logger
}

interface RunOptionsBase {
  /** The conversation to go on with. Default: one of its own, which starts and ends with the run. */
  readonly session?: Session
  /** Cancels the run when it aborts. */
  readonly signal?: AbortSignal
  /** One controller a run. */
  readonly controller?: RunController
  /** Layers inside the agent's, for this run. */
  readonly middleware?: readonly AnyMiddleware[]
  /** LLM steps this run may take. Default: the agent's. */
  readonly maxTurns?: number
  /** Default: the agent's. */
  readonly approvals?: Approvals
  /** What to do while another run has the session: fail with a `SessionBusyError` (the default), or wait for it, in turn and for 10 minutes at most. */
  readonly onBusy?: 'reject' | 'queue'
}

/** Options of a run. `metadata` is what the agent's middlewares need to know, all of them together. */
export type RunOptions<Meta = unknown> = RunOptionsBase &
  (Partial<Meta> extends Meta ? { readonly metadata?: unknown extends Meta ? unknown : Meta } : { readonly metadata: Meta })

/** Options may be left out where no metadata is needed. */
export type RunArguments<Meta> =
  Partial<RunOptions<Meta>> extends RunOptions<Meta> ? [options?: RunOptions<Meta>] : [options: RunOptions<Meta>]

/** Makes agents; the metadata that their middlewares need is inferred. */
export interface AgentConstructor {
  /** @throws ConfigError that names the culprits and the fix */
  new <const Metas extends readonly unknown[] = []>(options: AgentOptions<Metas>): Agent<MetaOfAll<Metas>>
}

class AgentBase<Meta> {
  readonly name: string
  readonly version: string | undefined
  readonly #options: AgentOptions
  readonly #parts: AgentParts
  readonly #runtime: Required<RuntimeOptions>

  constructor(options: AgentOptions) {
    checkOptions(options)
    const { name = 'agent', version, model, instructions, tools = [], toolConcurrency = Infinity, trace = false } = options
    this.#options = options
    this.name = name
    this.version = version
    this.#runtime = { ...defaultRuntime, ...options.runtime }
    this.#parts = {
      agent: Object.freeze({ name, version }),
      model,
      instructions,
      tools,
      toolConcurrency,
      trace,
      approvals: options.approvals && waiting(name, options.approvals, this.#runtime.sleep),
      clock: this.#runtime,
      logger: options.logger ?? console,
      ...onion(tools, arrange(options.middleware ?? [])),
    }
  }

  /** A new agent with these middlewares further in. */
  use<const Metas extends readonly unknown[]>(...middleware: MiddlewareList<Metas>): Agent<Meta & MetaOfAll<Metas>> {
    return new AgentBase({ ...this.#options, middleware: [...(this.#options.middleware ?? []), ...middleware] as never })
  }

  /**
   * Runs to the end.
   *
   * @throws the original error of what failed; a RunCancelledError (name 'AbortError') when the run was cancelled; a SessionBusyError when the session is
   *   in use; a ConfigError for options that do not fit
   */
  run(input: Input, ...[options]: RunArguments<Meta>): Promise<RunResult> {
    try {
      return this.#start(input, options ?? {}).result
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Runs under the caller's eyes: events by `for await`, the end by `result`. It starts in the next microtask. */
  stream(input: Input, ...[options]: RunArguments<Meta>): Run {
    const queue = new EventQueue()
    const { controller, result } = this.#start(input, options ?? {}, queue)
    return new Run(controller, queue, result)
  }

  /**
   * Ends a session: on_session_end. Its layers have `timeoutMs` together, then they are given up.
   *
   * @param timeoutMs default 1,500
   */
  async endSession(session: Session, reason: string, { timeoutMs = 1_500 }: { readonly timeoutMs?: number } = {}): Promise<void> {
    const run = this.#newRun({ role: 'user', content: [] }, { session }, new RunController())
    await endSession(run, reason, timeoutMs)
  }

  #start(
    input: Input,
    options: RunOptionsBase & { readonly metadata?: unknown },
    queue?: EventQueue,
  ): { controller: RunController; result: Promise<RunResult> } {
    const { signal, controller = new RunController() } = options
    checkLimit(this.name, 'maxTurns', options.maxTurns)
    if (!['reject', 'queue', undefined].includes(options.onBusy)) throw new ConfigError("onBusy is 'reject' or 'queue'")
    if (controller.used) throw new ConfigError('this RunController has been used: make one for each run')
    const run = this.#newRun(checkInput(input, 'the input of a run'), options, controller, queue)
    const onCancel = (): void => {
      run.grace.start()
      queue?.release()
    }
    controller.attach({ run, onCancel })
    if (controller.cancelled) onCancel()
    const follow = (): void => void controller.cancel(signal?.reason)
    if (signal?.aborted) follow()
    else signal?.addEventListener('abort', follow)
    const end = (): void => {
      signal?.removeEventListener('abort', follow)
      controller.close()
      run.grace.stop()
      queue?.end()
    }
    return { controller, result: loop(run, end) }
  }

  #newRun(
    input: UserMessage,
    options: RunOptionsBase & { readonly metadata?: unknown },
    controller: RunController,
    queue?: EventQueue,
  ): ActiveRun {
    const runId = this.#runtime.randomId()
    const own: RunParts = {
      runId,
      maxTurns: options.maxTurns ?? this.#options.maxTurns ?? 20,
      input,
      metadata: frozenCopy(options.metadata ?? noMetadata),
      session: options.session ?? memorySession({ id: runId }),
      ownSession: options.session === undefined,
      queueing: options.onBusy === 'queue' ? { timeoutMs: longest, sleep: this.#runtime.sleep } : undefined,
      controller,
    }
    return new ActiveRun(this.#partsWith(options), own, queue)
  }

  /** The agent's, with layers of the run inside its own. */
  #partsWith({ middleware = [], approvals }: RunOptionsBase): AgentParts {
    if (!Array.isArray(middleware)) throw new ConfigError(`agent '${this.name}': the middleware of a run must be a list`)
    const parts = approvals ? { ...this.#parts, approvals: waiting(this.name, approvals, this.#runtime.sleep) } : this.#parts
    if (middleware.length === 0) return parts
    return { ...parts, ...onion(parts.tools, arrange(middleware, parts.chains.layers)) }
  }
}

/** How long a run waits for a person or a session by default, in milliseconds. */
const longest = 600_000

const noMetadata: unknown = deepFreeze({})

function onion(tools: readonly Tool[], layers: readonly Layer[]): Pick<AgentParts, 'chains' | 'sanitizer'> {
  checkTools(tools, layers)
  const sanitizers = layers.flatMap(({ middleware }) => middleware.sanitize ?? [])
  return { chains: new Chains(layers), sanitizer: sanitizers.length > 0 ? new Sanitizer(sanitizers) : undefined }
}

/**
 * A model, tools and an onion of middleware. Immutable: it can be shared, and runs side by side.
 *
 * @example
 * const agent = new Agent({ model, tools: [shell] }).use(needsApproval)
 * const { text } = await agent.run('clean the build folder', { metadata: { approved: true } })
 */
export interface Agent<Meta = unknown> extends AgentBase<Meta> {}
export const Agent: AgentConstructor = AgentBase

function checkOptions(options: AgentOptions): void {
  const given = options as Partial<AgentOptions> | undefined
  const name = given?.name ?? 'agent'
  if (typeof given?.model?.stream !== 'function')
    throw new ConfigError(`agent '${name}' has no model: give it one, such as model: openaiCompatible({ … })`)
  for (const list of ['tools', 'middleware'] as const) {
    if (given[list] !== undefined && !Array.isArray(given[list])) throw new ConfigError(`agent '${name}': ${list} must be a list`)
  }
  checkLimit(name, 'maxTurns', given.maxTurns)
  checkLimit(name, 'toolConcurrency', given.toolConcurrency)
}

function waiting(agent: string, approvals: Approvals, sleep: Waiting['sleep']): Waiting {
  const { mode, timeoutMs } = approvals === 'wait' ? { mode: approvals, timeoutMs: longest } : approvals
  if (mode !== 'wait' || !(timeoutMs > 0 && Number.isFinite(timeoutMs)))
    throw new ConfigError(`agent '${agent}': approvals are 'wait', or { mode: 'wait', timeoutMs } with a finite number above 0`)
  return { timeoutMs, sleep }
}

function checkLimit(agent: string, limit: 'maxTurns' | 'toolConcurrency', value: unknown): void {
  const least = limit === 'maxTurns' ? 0 : 1
  if (value !== undefined && !(typeof value === 'number' && value >= least))
    throw new ConfigError(`agent '${agent}': ${limit} is ${messageOf(value)}, and must be a number of at least ${least}`)
}

async function loop(run: ActiveRun, end: () => void): Promise<RunResult> {
  await Promise.resolve()
  try {
    return await _runLoop(run)
  } finally {
    const ending = run.ownSession && endSession(run, 'run_end', 1_500)
    if (ending) await ending
    end()
  }
}
