import { ConfigError, SessionBusyError } from '../errors.ts'
import { newMark } from '../mark.ts'
import { within } from '../run/waiting.ts'
import type { Waiting } from '../run/waiting.ts'
import type { Cancellation } from '../signal.ts'
import type { Session } from './session.ts'

/** Which run holds a session. */
const holders = new WeakMap<object, string>()

/** Runs that wait for a session. */
const queues = new WeakMap<object, (() => void)[]>()

/** What a run's hooks and tools hold of a session stands for it: a run on one of those is refused too. */
const aliases = newMark<Session>()

export function standsFor<T extends object>(alias: T, session: Session): T {
  aliases.set(alias, session)
  return alias
}

/**
 * Takes a session for one run, in this process and for this very object. Returns the release, which may be called twice.
 *
 * @throws SessionBusyError that names the run which holds it; ConfigError when it is no session
 */
export function lockSession(given: Session, runId: string): () => void {
  const session = aliases.get(given) ?? given
  const holder = holders.get(session)
  if (holder !== undefined) throw new SessionBusyError(session.id, holder, { runId })
  if (typeof given.append !== 'function' || typeof given.replace !== 'function') {
    throw new ConfigError('a session needs append and replace: make one by memorySession()', { runId })
  }
  holders.set(session, runId)
  let held = true
  return () => {
    if (!held) return
    held = false
    holders.delete(session)
    queues.get(session)?.shift()?.()
  }
}

/**
 * The same for a run that waits for its turn, first come, first served. A run on a session from inside the run that holds it would wait for itself: it is
 * refused at once.
 *
 * @throws SessionBusyError, also when the time is over; the run's cancel error as soon as it is cancelled
 */
export async function queueForSession({ session, runId, cancellation }: Queuing, waiting: Waiting): Promise<() => void> {
  if (aliases.get(session) || !holders.has(session)) return lockSession(session, runId)
  const queue = queues.get(session) ?? []
  queues.set(session, queue)
  let take: () => void = () => {}
  let taken: (() => void) | undefined
  const turn = new Promise<() => void>((resolve) => {
    take = () => resolve((taken = lockSession(session, runId)))
  })
  queue.push(take)
  let release: (() => void) | undefined
  try {
    release = (await within(waiting, turn, cancellation)) ?? taken
    return release ?? lockSession(session, runId)
  } finally {
    if (!release) {
      const place = queue.indexOf(take)
      if (place >= 0) queue.splice(place, 1)
      // Its turn came in the tick in which it was cancelled.
      else taken?.()
    }
  }
}

interface Queuing {
  readonly session: Session
  readonly runId: string
  readonly cancellation: Cancellation
}
