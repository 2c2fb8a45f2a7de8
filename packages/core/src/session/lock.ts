import { SessionBusyError } from '../errors.ts'
import type { Session } from './session.ts'

const holders = new WeakMap<Session, string>()

/**
 * Takes a session for one run, in this process and for this very object. Returns the release, which may be called twice.
 *
 * @throws SessionBusyError that names the run which holds it.
 */
export function lockSession(session: Session, runId: string): () => void {
  const holder = holders.get(session)
  if (holder !== undefined) throw new SessionBusyError(session.id, holder, { runId })
  holders.set(session, runId)
  let held = true
  return () => {
    if (held) holders.delete(session)
    held = false
  }
}
