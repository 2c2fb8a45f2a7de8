import { allow, deny } from './decision.ts'
import { ConfigError } from './errors.ts'
import type { JsonObject } from './json.ts'
import type { Input, UserMessage } from './message.ts'
import { Steering } from './run/steering.ts'
import { checkInput } from './session/shape.ts'
import { Cancellation } from './signal.ts'
import { jsonArgs } from './tool/json.ts'
import { Questions } from './tool/person.ts'

/** What a run tells its controller: how to stop the work, and when it has ended. */
export interface Attachment {
  readonly run: { readonly runId: string; interrupt(): void }
  /** Layers that do not settle from now on are given up. */
  onCancel(): void
}

/**
 * Steers one run from outside: a word to the model, answers to its questions, its end. Make one for each run.
 *
 * @example
 * const controller = new RunController()
 * setTimeout(() => controller.cancel('too slow'), 1_000)
 * await agent.run('…', { controller })
 */
export class RunController {
  /** @internal */
  readonly cancellation: Cancellation = new Cancellation()
  #attachment: Attachment | undefined
  #questions: Questions | undefined
  #steering: Steering | undefined
  #takesSteering = true
  #state: 'new' | 'running' | 'decided' = 'new'

  get cancelled(): boolean {
    return this.cancellation.cancelled
  }

  /** Aborts when the run is cancelled. */
  get signal(): AbortSignal {
    return this.cancellation.signal
  }

  /** Has this controller been given to a run? Then it cannot be given to another. */
  get used(): boolean {
    return this.#state !== 'new'
  }

  /**
   * Cancels the run: everything that waits rejects in the same tick, and no model or tool call starts any more.
   *
   * @returns whether it took effect: false when the run's outcome was already decided. (Layers that then hold up its end are given up all the same.)
   */
  cancel(reason?: unknown): boolean {
    if (this.cancelled) return false
    const effective = this.#state !== 'decided'
    if (effective) this.cancellation.cancel(reason, this.#attachment?.run.runId)
    this.#attachment?.onCancel()
    return effective
  }

  /**
   * Says yes to a call that waits for a person (`approvals: 'wait'`), as the `permission_request` event showed it.
   *
   * @param options `args`: other arguments to run it with. They pass the same checks and gates, and the model is told
   * @returns whether it took effect: false where no such question is open
   * @throws ConfigError for arguments that are no JSON object; the question stays open
   */
  approve(callId: string, { args }: { readonly args?: JsonObject } = {}): boolean {
    return this.questions.answer(callId, args === undefined ? allow() : allow({ args: checkedArgs(callId, args) }))
  }

  /**
   * Says no to a call that waits for a person. The model is told the reason.
   *
   * @returns whether it took effect: false where no such question is open
   */
  deny(callId: string, reason: string = 'a person said no'): boolean {
    return this.questions.answer(callId, deny(reason))
  }

  /**
   * Says something to a run under way: the model reads the message before it is asked again, after all tool results. It passes `on_input` (a denied one is not
   * delivered), and keeps a run going that was about to stop. Several are delivered in their order. Before the run it waits for it.
   *
   * @param options `interrupt`: the model is not to finish its answer first. What is complete of that stays in the history, and none of its calls is executed
   * @returns whether it was accepted: false when the run's outcome is decided. What could not be delivered after all is in `result.undelivered`
   * @throws ConfigError for what is no input
   */
  steer(message: Input, { interrupt = false }: { readonly interrupt?: boolean } = {}): boolean {
    const said = checkInput(message, 'a message that steers a run')
    if (!this.#takesSteering || this.cancelled) return false
    this.#steering ??= new Steering()
    this.#steering.add(said)
    if (interrupt) this.#attachment?.run.interrupt()
    return true
  }

  /** Where anybody steers. @internal */
  get steering(): Steering | undefined {
    return this.#steering
  }

  /** Nothing that comes from now on could be delivered. @internal */
  closeSteering(): void {
    this.#takesSteering = false
  }

  /** What is left when there are no more deliveries. @internal */
  get undelivered(): readonly UserMessage[] | undefined {
    return this.#takesSteering ? undefined : this.#steering?.undelivered
  }

  /** @internal */
  get questions(): Questions {
    return (this.#questions ??= new Questions())
  }

  /** @internal */
  attach(attachment: Attachment): void {
    this.#state = 'running'
    this.#attachment = attachment
  }

  /** The outcome is decided: a later cancel does not change it, and says so. @internal */
  decide(): void {
    this.#state = 'decided'
    this.closeSteering()
  }

  /** @internal */
  close(): void {
    this.decide()
    this.#attachment = undefined
  }
}

function checkedArgs(callId: string, args: unknown): JsonObject {
  const copy = jsonArgs(args)
  if (typeof copy === 'string') throw new ConfigError(`approve('${callId}', { args }): ${copy}`)
  return copy
}
