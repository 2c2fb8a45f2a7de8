import { getEventListeners } from 'node:events'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { RunCancelledError } from './errors.ts'
import { Cancellation, deriveSignal, waitUnder, WorkSignal } from './signal.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const never = new Promise<never>(() => {})
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length

describe('deriveSignal', () => {
  test('aborts with its parent, for its reason', () => {
    const parent = new AbortController()
    const { signal } = deriveSignal(parent.signal)
    parent.abort('why')
    expect(signal.reason).toBe('why')
    expect(deriveSignal(parent.signal).signal.reason).toBe('why')
    expect(listeners(parent.signal)).toBe(0)
  })

  test('aborts alone, and by its time limit', async () => {
    const parent = new AbortController()
    const alone = deriveSignal(parent.signal)
    alone.abort('mine')
    expect([alone.signal.reason, parent.signal.aborted]).toEqual(['mine', false])
    const limited = deriveSignal(undefined, { timeoutMs: 50 })
    await vi.advanceTimersByTimeAsync(49)
    expect(limited.signal.aborted).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(limited.signal.reason).toMatchObject({ name: 'TimeoutError' })
  })

  test.for(['dispose', 'its own abort', 'its parent', 'its time'])('leaves no listener and no timer after %s', async (how) => {
    const parent = new AbortController()
    const derived = deriveSignal(parent.signal, { timeoutMs: 50 })
    expect([listeners(parent.signal), vi.getTimerCount()]).toEqual([1, 1])
    if (how === 'dispose') derived.dispose()
    if (how === 'its own abort') derived.abort()
    if (how === 'its parent') parent.abort()
    if (how === 'its time') await vi.advanceTimersByTimeAsync(50)
    expect([listeners(parent.signal), vi.getTimerCount()]).toEqual([0, 0])
    derived.dispose()
  })
})

describe('waitUnder', () => {
  test('is the promise, or the reason of the signal, and leaves no listener', async () => {
    const { signal, abort } = deriveSignal(undefined)
    await expect(waitUnder(signal, Promise.resolve(1))).resolves.toBe(1)
    await expect(waitUnder(signal, Promise.reject(new Error('own')))).rejects.toThrow('own')
    const waiting = waitUnder(signal, never)
    abort('enough')
    await expect(waiting).rejects.toBe('enough')
    await expect(waitUnder(signal, never)).rejects.toBe('enough')
    expect(listeners(signal)).toBe(0)
  })
})

describe('a cancellation', () => {
  test('rejects all that waits in the same tick, and whoever comes later', async () => {
    const cancellation = new Cancellation()
    const told: unknown[] = []
    cancellation.onCancel((error) => told.push(error))
    const waits = [cancellation.wait(never), cancellation.wait(never)]
    expect(cancellation.waiting).toBe(3)
    cancellation.cancel('enough', 'r')
    expect(cancellation.waiting).toBe(0)
    const error = told[0]
    expect(error).toBeInstanceOf(RunCancelledError)
    expect(error).toMatchObject({ cause: 'enough', runId: 'r' })
    for (const wait of waits) await expect(wait).rejects.toBe(error)
    await expect(cancellation.wait(Promise.resolve(1))).rejects.toBe(error)
    cancellation.onCancel((again) => told.push(again))
    expect(told).toEqual([error, error])
    cancellation.cancel('again', 'r')
    expect(cancellation.error).toBe(error)
  })

  test('forgets what has settled and what was taken back', async () => {
    const cancellation = new Cancellation()
    await cancellation.wait(Promise.resolve(1))
    await cancellation.wait(Promise.reject(new Error('own'))).catch(() => {})
    cancellation.onCancel(() => {})()
    expect(cancellation.waiting).toBe(0)
  })

  test('makes its signal when somebody asks, before or after', () => {
    const before = new Cancellation()
    const { signal } = before
    before.cancel('enough', undefined)
    expect(signal.aborted).toBe(true)
    expect(signal.reason).toBe(before.error)
    const after = new Cancellation()
    after.cancel('enough', undefined)
    expect(after.signal.aborted).toBe(true)
    expect(after.signal).toBe(after.signal)
  })

  test('may be interrupted for a while, which a cancel makes final', async () => {
    const cancellation = new Cancellation()
    const { signal } = cancellation
    const timeout = new Error('time is up')
    const waiting = cancellation.wait(never)
    cancellation.interrupt(timeout)
    await expect(waiting).rejects.toBe(timeout)
    expect([cancellation.cancelled, signal.reason]).toEqual([false, timeout])
    cancellation.resume()
    await expect(cancellation.wait(Promise.resolve(1))).resolves.toBe(1)
    expect(cancellation.signal.aborted).toBe(false)
    cancellation.interrupt(timeout)
    cancellation.cancel('enough', undefined)
    cancellation.resume()
    expect(cancellation.error).toBeInstanceOf(RunCancelledError)
    expect(cancellation.cancelled).toBe(true)
  })
})

describe('the signal of one piece of work', () => {
  test.for<[string, (parts: { cancellation: Cancellation; own: AbortController }) => unknown]>([
    ['the run is cancelled', ({ cancellation }) => (cancellation.cancel('run', undefined), cancellation.error)],
    ['the layer aborts its own', ({ own }) => (own.abort('layer'), 'layer')],
    ['its time is up', () => (vi.advanceTimersByTime(50), 'time')],
  ])('aborts when %s, and leaves nothing behind', async ([, act]) => {
    const cancellation = new Cancellation()
    const own = new AbortController()
    const work = new WorkSignal(cancellation, own.signal, { ms: 50, error: () => 'time' as never })
    const waiting = work.wait(never)
    const reason = act({ cancellation, own })
    await expect(waiting).rejects.toBe(reason)
    expect(work.signal.reason).toBe(reason)
    work.dispose()
    expect([cancellation.waiting, listeners(own.signal), vi.getTimerCount()]).toEqual([0, 0, 0])
  })

  test('is not made where nobody asks', async () => {
    const cancellation = new Cancellation()
    const work = new WorkSignal(cancellation)
    await work.wait(Promise.resolve())
    work.dispose()
    expect(cancellation.waiting).toBe(0)
  })

  test('asked for by a straggler leaves nothing behind either', () => {
    const cancellation = new Cancellation()
    const own = new AbortController()
    const work = new WorkSignal(cancellation, own.signal, { ms: 50, error: () => new Error('time') })
    work.dispose()
    expect(work.signal.aborted).toBe(false)
    expect([cancellation.waiting, listeners(own.signal), vi.getTimerCount()]).toEqual([0, 0, 0])
    const cut = new Cancellation()
    const late = new WorkSignal(cut)
    cut.cancel('enough', undefined)
    late.dispose()
    expect(late.signal.aborted).toBe(true)
  })
})
