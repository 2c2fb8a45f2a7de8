import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import { watchedSignal } from './listeners.ts'

const none = (): void => {}

test('listeners are counted as the signal itself counts them', () => {
  const { signal, listeners } = watchedSignal()
  const until = new AbortController()
  const steps: readonly (() => void)[] = [
    () => signal.addEventListener('abort', none),
    () => signal.addEventListener('abort', none, { once: true }),
    () => signal.addEventListener('abort', none, true),
    () => signal.addEventListener('other', none),
    () => signal.removeEventListener('abort', none, { capture: true }),
    () => signal.removeEventListener('other', none),
    () => signal.addEventListener('abort', () => {}, { signal: until.signal }),
    () => until.abort(),
    () => signal.addEventListener('abort', () => {}, { signal: until.signal }),
    () => signal.removeEventListener('abort', none),
  ]
  const counts = steps.map((step) => {
    step()
    expect(listeners()).toBe(getEventListeners(signal, 'abort').length)
    return listeners()
  })
  expect(counts).toEqual([1, 1, 2, 2, 1, 1, 2, 1, 1, 0])
})

test('listeners hear the abort', () => {
  const { signal, abort } = watchedSignal()
  const heard: unknown[] = []
  signal.addEventListener('abort', () => heard.push(signal.reason))
  abort('enough')
  expect(heard).toEqual(['enough'])
})
