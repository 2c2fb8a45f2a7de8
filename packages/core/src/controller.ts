import { Cancellation } from './signal.ts'

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
