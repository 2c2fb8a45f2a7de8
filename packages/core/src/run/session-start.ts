import type { Message } from '../message.ts'
import type { Session } from '../session/session.ts'
import { deriveSignal, waitUnder } from '../signal.ts'
import type { ActiveRun } from './active-run.ts'

/** Sessions that have had their first run in this process, with notes that no message has taken along yet. */
const started = new WeakMap<Session, readonly Message[]>()

/** on_session_start, before the first run of a session in this process. @returns the notes of its layers, to stand before the first message */
export function startSession(run: ActiveRun): readonly Message[] | Promise<readonly Message[]> {
  const pending = started.get(run.session)
  if (pending) return pending
  if (run.chains.at.on_session_start) return askLayers(run)
  begun(run, none)
  return none
}

function begun(run: ActiveRun, notes: readonly Message[]): void {
  run.hasSession = true
  // One that goes with its run needs no entry, and nobody sees it again.
  if (!run.ownSession) started.set(run.session, notes)
}

const none: readonly Message[] = []

async function askLayers(run: ActiveRun): Promise<readonly Message[]> {
  const { session } = run
  const source = session.messages.length === 0 ? 'startup' : 'resume'
  const pass = await run.through('on_session_start', run.unit, { source, session: run.handle.session })
  const text = pass?.context
  const notes: readonly Message[] = text ? [{ role: 'user', content: [{ type: 'text', text, added: true }] }] : none
  begun(run, notes)
  return notes
}

/** The session's first message is in, and the notes before it. */
export function notesTaken({ session }: ActiveRun): void {
  if (started.has(session)) started.set(session, none)
}

/** on_session_end, for a session that was started: its layers have so many milliseconds together, then they are given up. */
export function endSession(run: ActiveRun, reason: string, timeoutMs: number): void | Promise<void> {
  const isOver = run.ownSession ? run.hasSession : started.delete(run.session)
  const ended = isOver && run.through('on_session_end', run.unit, { reason }, { exit: true })
  // Layers that take no time need no limit.
  if (ended instanceof Promise) return waitFor(ended, run, reason, timeoutMs)
}

async function waitFor(ended: Promise<unknown>, run: ActiveRun, reason: string, timeoutMs: number): Promise<void> {
  const limit = deriveSignal(undefined, { timeoutMs })
  try {
    await waitUnder(limit.signal, ended)
  } catch (error) {
    run.log(`on_session_end of session '${run.session.id}' (${reason}):`, error)
  } finally {
    limit.dispose()
  }
}
