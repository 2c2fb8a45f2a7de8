import { KoagentError } from '../errors.ts'
import type { Session } from './session.ts'

/**
 * A session in the hands of one run: writes come one after the other, and the run's end waits for them, also for those of a layer that was given
 * up. Later ones are refused.
 */
export class SessionHandle {
  /** What hooks get that may write. */
  readonly session: Session
  readonly #stored: Session
  readonly #onWrite: () => void
  #busy: Promise<void> | undefined
  #open = true

  /** @param onWrite called before each write by a hook */
  constructor(stored: Session, onWrite: () => void) {
    this.#stored = stored
    this.#onWrite = onWrite
    this.session = Object.freeze<Session>({
      id: stored.id,
      get messages() {
        return stored.messages
      },
      append: (messages) => this.#byHook(() => stored.append(messages)),
      replace: (messages) => this.#byHook(() => stored.replace(messages)),
    })
  }

  #byHook(write: () => void | Promise<void>): void | Promise<void> {
    if (!this.#open) {
      const { id } = this.session
      throw new KoagentError('session_released', `session '${id}': the run of this ctx.session is over; keep the session itself`)
    }
    this.#onWrite()
    return this.#next(write)
  }

  append(messages: Parameters<Session['append']>[0]): void | Promise<void> {
    return this.#next(() => this.#stored.append(messages))
  }

  replace(messages: Parameters<Session['replace']>[0]): void | Promise<void> {
    return this.#next(() => this.#stored.replace(messages))
  }

  /** At once where no other write is under way, so that a session in memory stays synchronous. */
  #next(write: () => void | Promise<void>): void | Promise<void> {
    const done = this.#busy ? this.#busy.then(write) : write()
    if (!done) return
    const settled = (): void => {
      if (this.#busy === busy) this.#busy = undefined
    }
    const busy: Promise<void> = done.then(settled, settled)
    this.#busy = busy
    return done
  }

  /** Waits for what is under way, and takes no more writes of hooks. */
  async close(): Promise<void> {
    this.#open = false
    while (this.#busy) await this.#busy
  }
}
