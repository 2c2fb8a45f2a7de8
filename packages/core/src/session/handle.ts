import { KoagentError } from '../errors.ts'
import type { Session } from './session.ts'

/**
 * A session in the hands of one run: writes come one after the other, and the run's end waits for them, also for those of a layer that was given
 * up. Later ones are refused.
 */
export class SessionHandle {
  /** What hooks get that may write. */
  readonly session: Session
  readonly append: Session['append']
  readonly replace: Session['replace']
  #busy: Promise<void> | undefined
  #open = true

  /** @param onWrite called before each write by a hook */
  constructor(stored: Session, onWrite: () => void) {
    const { id } = stored
    this.append = (messages) => this.#next(() => stored.append(messages))
    this.replace = (messages) => this.#next(() => stored.replace(messages))
    const byHook =
      (write: Session['append']): Session['append'] =>
      (messages) => {
        if (!this.#open)
          throw new KoagentError(
            'session_released',
            `session '${id}': the run of this ctx.session is over; keep the session itself`,
          )
        onWrite()
        return write(messages)
      }
    this.session = Object.freeze<Session>({
      id,
      get messages() {
        return stored.messages
      },
      append: byHook(this.append),
      replace: byHook(this.replace),
    })
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
