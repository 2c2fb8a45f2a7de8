import { describe, expect, test } from 'vitest'
import { SessionBusyError } from '../errors.ts'
import { lockSession } from './lock.ts'
import { memorySession } from './session.ts'

describe('lockSession', () => {
  test('refuses a second run and names the one that holds the session', () => {
    const session = memorySession({ id: 's1' })
    lockSession(session, 'run-1')
    const error = caught(() => lockSession(session, 'run-2'))
    expect(error).toBeInstanceOf(SessionBusyError)
    expect(error).toMatchObject({ sessionId: 's1', holder: 'run-1', runId: 'run-2' })
  })

  test('gives the session to the next run after the release', () => {
    const session = memorySession()
    lockSession(session, 'run-1')()
    expect(() => lockSession(session, 'run-2')).not.toThrow()
  })

  test('a second release does not free the next holder', () => {
    const session = memorySession()
    const release = lockSession(session, 'run-1')
    release()
    lockSession(session, 'run-2')
    release()
    expect(() => lockSession(session, 'run-3')).toThrow(/run-2/)
  })

  test('goes by the object, not by the id', () => {
    lockSession(memorySession({ id: 'same' }), 'run-1')
    expect(() => lockSession(memorySession({ id: 'same' }), 'run-2')).not.toThrow()
  })
})

function caught(work: () => unknown): unknown {
  try {
    work()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}
