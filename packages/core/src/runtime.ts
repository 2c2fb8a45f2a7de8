import { delay } from 'abort-controller-x'
import type { Cancellation } from './signal.ts'

/** Where time and chance come from. An engine that replays runs replaces it. */
export interface Runtime {
  /** Milliseconds since the epoch. */
  now(): number
  /** Resolves after so many milliseconds; rejects when the run is cancelled. */
  sleep(ms: number): Promise<void>
  randomId(): string
}

/** The parts of a runtime that an agent can be given. */
export interface RuntimeOptions {
  readonly now?: () => number
  readonly sleep?: (ms: number, signal: AbortSignal) => Promise<void>
  readonly randomId?: () => string
}

/** Where koagent and its middleware write what no caller gets to see. `console` is one. */
export interface Logger {
  debug(...data: unknown[]): void
  info(...data: unknown[]): void
  warn(...data: unknown[]): void
  error(...data: unknown[]): void
}

/** An agent's runtime, whose waits end with what they stand under. */
export function runtimeUnder(cancellation: Cancellation, { now, sleep, randomId }: Required<RuntimeOptions>): Runtime {
  return Object.freeze({ now, randomId, sleep: (ms: number) => cancellation.wait(sleep(ms, cancellation.signal)) })
}

export const defaultRuntime: Required<RuntimeOptions> = {
  now: () => Date.now(),
  sleep: (ms, signal) => delay(signal, ms),
  randomId: () => crypto.randomUUID(),
}
