import { ConfigError, SessionBusyError } from '../errors.ts'
import type { Session } from './session.ts'

const holders = new WeakMap<object, string>()

/**
 * Takes a session for one run, in this process and for this very object. Returns the release, which may be called twice.
 *
 * @param aliases what the run's hooks and tools hold of it: a run on one of those is refused too
 * @throws SessionBusyError that names the run which holds it; ConfigError when it is no session
 */
export function lockSession(session: Session, runId: string, aliases: readonly object[] = []): () => void {
  const holder = holders.get(session)
  if (holder !== undefined) throw new SessionBusyError(session.id, holder, { runId })
  if (typeof session.append !== 'function' || typeof session.replace !== 'function') {
    throw new ConfigError('a session needs append and replace: make one by memorySession()', { runId })
  }
  const held = [session, ...aliases]
  for (const object of held) holders.set(object, runId)
  return () => {
    for (const object of held.splice(0)) holders.delete(object)
  }
}
