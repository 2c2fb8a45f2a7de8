import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Message } from '../message.ts'
import { SessionHandle } from './handle.ts'
import { memorySession } from './session.ts'

const said = (text: string): Message => ({ role: 'user', content: [{ type: 'text', text }] })

/** A session whose writes end when they are told to. */
function slow() {
  const log: string[] = []
  const ends: (() => void)[] = []
  const write = (messages: readonly Message[]): Promise<void> => {
    log.push(`begin ${messages.length}`)
    return new Promise((resolve) => ends.push(() => (log.push(`end ${messages.length}`), resolve())))
  }
  return { log, end: () => ends.shift()?.(), session: { id: 's', messages: [], append: write, replace: write } }
}

describe('a session in the hands of a run', () => {
  test('is written at once where it is in memory, by hooks and by core', () => {
    const session = memorySession()
    const written: number[] = []
    const handle = new SessionHandle(session, () => written.push(session.messages.length))
    expect(handle.session.append([said('a')])).toBeUndefined()
    expect(handle.append([said('b')])).toBeUndefined()
    expect(handle.session.replace([said('c')])).toBeUndefined()
    expect(handle.session.messages).toBe(session.messages)
    expect(session.messages).toEqual([said('c')])
    // Told of what hooks write, before they do.
    expect(written).toEqual([0, 2])
  })

  test('takes one write at a time, in order', async () => {
    const { log, end, session } = slow()
    const handle = new SessionHandle(session, () => {})
    void handle.session.append([said('a')])
    void handle.append([said('a'), said('b')])
    await setImmediate()
    expect(log).toEqual(['begin 1'])
    end()
    await setImmediate()
    expect(log).toEqual(['begin 1', 'end 1', 'begin 2'])
  })

  test('is closed when all writes are over, and takes none of a hook afterwards', async () => {
    const { log, end, session } = slow()
    const handle = new SessionHandle(session, () => {})
    void handle.session.append([said('a')])
    let closed = false
    const closing = handle.close().then(() => (closed = true))
    await setImmediate()
    expect(closed).toBe(false)
    expect(() => handle.session.replace([])).toThrow(/run .* is over/)
    end()
    await closing
    expect(log).toEqual(['begin 1', 'end 1'])
  })

  test('goes on after a write that failed, which only its writer hears of', async () => {
    const boom = new Error('boom')
    const session = { id: 's', messages: [], append: () => Promise.reject(boom), replace: () => Promise.resolve() }
    const handle = new SessionHandle(session, () => {})
    await expect(handle.append([])).rejects.toBe(boom)
    void handle.session.append([])
    await expect(handle.replace([])).resolves.toBeUndefined()
    await handle.close()
  })
})
