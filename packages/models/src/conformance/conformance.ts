import { abortChecks } from './aborts.ts'
import type { AbortCheckName } from './aborts.ts'
import { answerChecks } from './answers.ts'
import type { AnswerCheckName } from './answers.ts'
import { failureChecks } from './failures.ts'
import type { FailureCheckName } from './failures.ts'
import { requestChecks } from './requests.ts'
import type { RequestCheckName } from './requests.ts'
import type { Check, Start } from './subject.ts'

export type { ConformanceStep, ConformanceSubject, Start } from './subject.ts'

export type ConformanceCheckName = AnswerCheckName | RequestCheckName | FailureCheckName | AbortCheckName

const checks: Readonly<Record<ConformanceCheckName, Check>> = {
  ...answerChecks,
  ...requestChecks,
  ...failureChecks,
  ...abortChecks,
}

/** One rule for models. */
export interface ConformanceCheck {
  /** Of a check that is skipped: with the reason. */
  readonly name: string
  /** Throws an error that says how the model breaks the rule. Does nothing where it is skipped. */
  readonly check: () => Promise<void>
  readonly skipped: boolean
}

/** Options of {@link modelConformance}. */
export interface ModelConformanceOptions {
  /** Rules that the provider gives no chance to keep, each with the reason. */
  readonly skip?: { readonly [name in ConformanceCheckName]?: string }
}

/**
 * The rules of the contract of `Model`, each as a check for a test of any framework. `start` is called by every check, with the steps that the
 * provider behind the model is to play.
 *
 * Contract: a check leaves nothing behind, so that checks may run at the same time. That nothing is rejected without a handler is for the test framework to see.
 *
 * @example
 * const suite = modelConformance(async (steps) => {
 *   const provider = await fakeProvider(steps)
 *   const model = openaiCompatible({ model: 'any', baseURL: provider.baseURL })
 *   return { model, close: provider.close, received: () => provider.requests.map(({ body }) => JSON.stringify(body)) }
 * })
 * for (const { name, check } of suite) test(name, check)
 */
export function modelConformance(start: Start, { skip = {} }: ModelConformanceOptions = {}): readonly ConformanceCheck[] {
  return Object.entries<Check>(checks).map(([name, check]) => {
    const reason = isName(name) ? skip[name] : undefined
    if (reason !== undefined) return { name: `${name} (skipped: ${reason})`, check: async () => {}, skipped: true }
    return { name, check: () => check(start), skipped: false }
  })
}

function isName(name: string): name is ConformanceCheckName {
  return name in checks
}
