import type { Model } from '@koagent/core'
import type { ScriptedStep } from '@koagent/core/scripted'

/** What the provider behind the model is to answer: a step as for `scripted` or `fakeProvider`. */
export interface ConformanceStep extends ScriptedStep {
  /** After all that the step holds but its finish: the answer ends, loses its connection, or stays open. */
  readonly end?: 'cut' | 'reset' | 'hang'
}

/** A model, and the provider that answers it. */
export interface ConformanceSubject {
  readonly model: Model
  /** The text of every request that reached the provider, oldest first. */
  readonly received: () => readonly string[]
  /** Called at the end of the check. */
  readonly close?: () => unknown
}

/** Makes a model whose provider answers its first request with the first step, the second with the second, and so on. */
export type Start = (steps: readonly ConformanceStep[]) => ConformanceSubject | Promise<ConformanceSubject>

/** Throws where the model breaks the rule. */
export type Check = (start: Start) => Promise<void>

/** Runs a check on a subject, and closes it. */
export async function using(
  start: Start,
  steps: readonly ConformanceStep[],
  check: (subject: ConformanceSubject) => Promise<void>,
): Promise<void> {
  const subject = await start(steps)
  try {
    await check(subject)
  } finally {
    await subject.close?.()
  }
}
