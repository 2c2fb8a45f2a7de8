import type { Unit } from '../chain/layer.ts'
import type { ActiveRun } from './active-run.ts'

/** How often a step or a call is tried, retries and fallbacks together. */
export const maxAttempts = 10

/** Waits for the time of another attempt, if the run goes on at all. */
export async function pause(run: ActiveRun, delayMs: number, unit: Unit): Promise<void> {
  if (delayMs > 0) await run.runtimeUnder(run.scopeOf(unit)).sleep(delayMs)
  run.check(unit)
}
