import { callsOf } from '../message.ts'
import { inspect } from './pairs.ts'
import type { Sound } from './pairs.ts'
import type { Session } from './session.ts'

/** The ids of the calls that a session holds, looked up without reading it anew each time. */
export class CallIds {
  readonly #session: Session
  readonly #known: Sound | undefined

  constructor(session: Session, known: Sound | undefined) {
    this.#session = session
    this.#known = known
  }

  has(callId: string): boolean {
    const { messages } = this.#session
    const history = inspect(messages, this.#known)
    if (history.problem === undefined) return history.callIds.has(callId)
    // Between calls and their results a history is not whole.
    return messages.some((message) => callsOf(message).some((call) => call.callId === callId))
  }
}
