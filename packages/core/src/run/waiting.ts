import { toError } from '../errors.ts'
import type { RuntimeOptions } from '../runtime.ts'
import { deriveSignal } from '../signal.ts'
import type { Cancellation } from '../signal.ts'

/** How long a run waits for somebody, in milliseconds, and by which clock. */
export interface Waiting {
  readonly timeoutMs: number
  readonly sleep: NonNullable<RuntimeOptions['sleep']>
}

/** What the promise comes to, or undefined when the time is over. Rejects when the run is cancelled. No clock goes on after it. */
export async function within<T>(
  { timeoutMs, sleep }: Waiting,
  promise: Promise<T>,
  cancellation: Cancellation,
): Promise<T | undefined> {
  const clock = deriveSignal(undefined)
  const late = sleep(timeoutMs, clock.signal).then(() => undefined)
  // It rejects when it is stopped.
  late.catch(() => {})
  try {
    return await cancellation.wait(Promise.race([promise, late]))
  } finally {
    clock.abort(toError('no longer waited for', 'the clock'))
  }
}
