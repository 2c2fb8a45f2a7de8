import { ConfigError, SessionBusyError } from '../errors.ts'
import { newMark } from '../mark.ts'
import type { Session } from './session.ts'

/** Which run holds a session. */
const holders = new WeakMap<object, string>()

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
    if (held) holders.delete(session)
    held = false
  }
}
