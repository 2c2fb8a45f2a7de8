import { ConfigError } from '../errors.ts'
import { freezeList, frozenCopy } from '../freeze.ts'
import { newMark } from '../mark.ts'
import type { Message } from '../message.ts'
import { checkMessage } from './shape.ts'

/**
 * A conversation that outlives its runs.
 *
 * Contract: `messages` is a snapshot that never changes under its reader, and shows what `append` and `replace` have finished.
 * `replace` is atomic: after a failure the old messages are still there. A run never writes twice at a time.
 */
export interface Session {
  readonly id: string
  readonly messages: readonly Message[]
  append(messages: readonly Message[]): void | Promise<void>
  replace(messages: readonly Message[]): void | Promise<void>
}

/**
 * A session in memory. Messages are copied and frozen; appending costs no more than what is appended.
 *
 * @param options `id` defaults to a random UUID, `messages` to none.
 * @throws ConfigError, also from `append` and `replace`, that says which message has the wrong shape; nothing is stored then.
 */
export function memorySession({
  id,
  messages = [],
}: { readonly id?: string; readonly messages?: readonly Message[] } = {}): Session {
  if (id !== undefined && (typeof id !== 'string' || !id))
    throw new ConfigError('a session id must be a string that is not empty')
  return new MemorySession(id ?? globalThis.crypto.randomUUID(), taken(messages, 'memorySession'))
}

/** Lists of one session between two times that it was replaced: the shorter is the beginning of the longer. */
const lineage = newMark<object>()

/** Is one of these lists known to be the beginning of the other? */
export function areOneHistory(a: readonly Message[], b: readonly Message[]): boolean {
  const line = lineage.get(a)
  return line !== undefined && line === lineage.get(b)
}

/** Of shorter ones it is quicker to look. */
const longHistory = 64

class MemorySession implements Session {
  readonly id: string
  #stored: Message[]
  #snapshot: readonly Message[] | undefined
  #line: object = {}

  constructor(id: string, messages: Message[]) {
    this.id = id
    this.#stored = messages
    Object.freeze(this)
  }

  get messages(): readonly Message[] {
    // Copied only when it is read after a change, so that a run of appends stays linear.
    return (this.#snapshot ??= this.#copy())
  }

  #copy(): readonly Message[] {
    const copy = this.#stored.slice()
    if (copy.length >= longHistory) lineage.set(copy, this.#line)
    return freezeList(copy)
  }

  // Fields, so that whoever wraps a session may take them off it.
  readonly append = (added: readonly Message[]): void => {
    for (const message of taken(added, 'session.append')) this.#stored.push(message)
    this.#snapshot = undefined
  }

  readonly replace = (all: readonly Message[]): void => {
    this.#stored = taken(all, 'session.replace')
    this.#snapshot = undefined
    this.#line = {}
  }
}

function taken(messages: readonly Message[], where: string): Message[] {
  if (!Array.isArray(messages)) throw new ConfigError(`${where} takes a list of messages`)
  return messages.map((message: Message, i) => {
    checkMessage(message, where, i)
    return frozenCopy(message)
  })
}
