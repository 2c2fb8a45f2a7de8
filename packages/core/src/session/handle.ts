import type { SessionView } from '../ctx.ts'
import { KoagentError } from '../errors.ts'
import type { Message } from '../message.ts'
import { standsFor } from './lock.ts'
import type { Session } from './session.ts'

type Write = 'append' | 'replace'

/**
 * A session in the hands of one run: writes come one after the other, and the run's end waits for them, also for those of a layer that was given
 * up. Later ones are refused.
 */
export class SessionHandle {
  readonly #stored: Session
  readonly #onWrite: () => void
  #view: SessionView | undefined
  #session: Session | undefined
  #busy: Promise<void> | undefined
  #open = true

  /** @param onWrite called before each write by a hook */
  constructor(stored: Session, onWrite: () => void) {
    this.#stored = stored
    this.#onWrite = onWrite
  }

  /** What everybody gets, who may read. */
  get view(): SessionView {
    return (this.#view ??= standsFor(new View(this.#stored), this.#stored))
  }

  /** What hooks get that may write. */
  get session(): Session {
    return (this.#session ??= standsFor(new OpenView(this.#stored, this), this.#stored))
  }

  append(messages: readonly Message[]): void | Promise<void> {
    return this.#write('append', messages)
  }

  replace(messages: readonly Message[]): void | Promise<void> {
    return this.#write('replace', messages)
  }

  /** A write of a hook. */
  byHook(write: Write, messages: readonly Message[]): void | Promise<void> {
    if (!this.#open) {
      const { id } = this.#stored
      throw new KoagentError('session_released', `session '${id}': the run of this ctx.session is over; keep the session itself`)
    }
    this.#onWrite()
    return this.#write(write, messages)
  }

  /** At once where no other write is under way, so that a session in memory stays synchronous. */
  #write(write: Write, messages: readonly Message[]): void | Promise<void> {
    const stored = this.#stored
    const done = this.#busy ? this.#busy.then(() => stored[write](messages)) : stored[write](messages)
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

class View implements SessionView {
  readonly id: string
  readonly #stored: Session

  constructor(stored: Session) {
    this.id = stored.id
    this.#stored = stored
    if (new.target === View) Object.freeze(this)
  }

  get messages(): readonly Message[] {
    return this.#stored.messages
  }
}

class OpenView extends View implements Session {
  readonly #handle: SessionHandle

  constructor(stored: Session, handle: SessionHandle) {
    super(stored)
    this.#handle = handle
    Object.freeze(this)
  }

  // Made when it is asked for, and whoever wraps a session may take it off: a closure in each run's view would outlive the run.
  get append(): Session['append'] {
    return (messages) => this.#handle.byHook('append', messages)
  }

  get replace(): Session['replace'] {
    return (messages) => this.#handle.byHook('replace', messages)
  }
}
