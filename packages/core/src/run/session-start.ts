import type { Message } from '../message.ts'
import type { Session } from '../session/session.ts'
import { deriveSignal, waitUnder } from '../signal.ts'
import type { ActiveRun } from './active-run.ts'

/** Sessions that have had their first run in this process. */
const started = new WeakSet<Session>()

/** on_session_start, before the first run of a session in this process. @returns the notes of its layers, to stand before the first message */
export async function startSession(run: ActiveRun): Promise<readonly Message[]> {
  const { session } = run
  if (started.has(session)) return []
  const source = session.messages.length === 0 ? 'startup' : 'resume'
  const pass = await run.through('on_session_start', run.unit, { source, session })
  started.add(session)
  const text = pass?.context
  return text ? [{ role: 'user', content: [{ type: 'text', text, added: true }] }] : []
}

/** on_session_end, for a session that was started: its layers have so many milliseconds together, then they are given up. */
export async function endSession(run: ActiveRun, reason: string, timeoutMs: number): Promise<void> {
  if (!started.delete(run.session) || !run.chains.at('on_session_end')) return
  const ended = run.through('on_session_end', run.unit, { reason }, { exit: true })
  const limit = deriveSignal(undefined, { timeoutMs })
  try {
    await waitUnder(limit.signal, ended)
  } catch (error) {
    run.logger.error(`on_session_end of session '${run.session.id}' (${reason}):`, error)
  } finally {
    limit.dispose()
  }
}
