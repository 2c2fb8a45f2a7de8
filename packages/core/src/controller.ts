import { allow, deny } from './decision.ts'
import { ConfigError } from './errors.ts'
import { isObject } from './json.ts'
import type { JsonObject } from './json.ts'
import { Cancellation } from './signal.ts'
import { Questions } from './tool/person.ts'

/** What a run tells its controller: how to stop the work, and when it has ended. */
export interface Attachment {
  readonly runId: string
  /** Layers that do not settle from now on are given up. */
  onCancel(): void
}

/**
 * Steers one run from outside: `cancel` now; further powers come with later versions. Make one for each run.
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
    if (effective) this.cancellation.cancel(reason, this.#attachment?.runId)
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
  }

  /** @internal */
  close(): void {
    this.decide()
    this.#attachment = undefined
  }
}

function checkedArgs(callId: string, args: unknown): JsonObject {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(args))
    if (isObject(copy)) return copy as JsonObject
  } catch {
    // It holds what JSON has no form for.
  }
  throw new ConfigError(`approve('${callId}', { args }): args must be a JSON object`)
}
