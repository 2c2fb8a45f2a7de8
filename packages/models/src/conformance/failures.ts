import { ModelError } from '@koagent/core'
import { hear } from './hear.ts'
import { mustBeModelError, mustEqual, mustThrow } from './must.ts'
import { using } from './subject.ts'
import type { Check } from './subject.ts'

const limited = new ModelError('slow down', { status: 429, retryable: true, retryAfterMs: 1500 })
const refused = new ModelError('no such key', { status: 401, retryable: false })
const overloaded = new ModelError('overloaded', { status: 503, retryable: true })

/** So many that a model which retries would meet the same again. */
const often = <Step>(step: Step): Step[] => Array.from({ length: 6 }, () => step)

export type FailureCheckName =
  | 'a refusal is a ModelError that tells whether to retry'
  | 'a refusal tells how long to wait'
  | 'a failure in mid-stream is a ModelError'
  | 'a stream that is cut off is a ModelError'
  | 'a request is sent once'

/** How a model tells that its provider failed. */
export const failureChecks: Readonly<Record<FailureCheckName, Check>> = {
  'a refusal is a ModelError that tells whether to retry': async (start) => {
    for (const error of [limited, refused, overloaded]) {
      const { status, retryable } = error
      await using(start, often({ error }), async ({ model }) => {
        const thrown = await mustThrow(hear(model), `an answer with HTTP ${status}`)
        mustBeModelError(thrown, { status, retryable }, `what an answer with HTTP ${status} throws`)
      })
    }
  },

  'a refusal tells how long to wait': (start) =>
    using(start, often({ error: limited }), async ({ model }) => {
      const thrown = await mustThrow(hear(model), 'an answer with HTTP 429')
      mustBeModelError(thrown, { retryAfterMs: 1500 }, 'what a refusal with a time to wait throws')
    }),

  'a failure in mid-stream is a ModelError': (start) =>
    using(start, often({ text: 'One two', error: overloaded }), async ({ model }) => {
      const thrown = await mustThrow(hear(model), 'an answer that fails after its first words')
      mustBeModelError(thrown, { retryable: true }, 'what an answer that fails after its first words throws')
    }),

  'a stream that is cut off is a ModelError': async (start) => {
    for (const end of ['cut', 'reset'] as const) {
      await using(start, often({ text: 'One two', end }), async ({ model }) => {
        const thrown = await mustThrow(hear(model), `an answer that is cut off (${end})`)
        mustBeModelError(thrown, { retryable: true }, `what an answer that is cut off (${end}) throws`)
      })
    }
  },

  'a request is sent once': (start) =>
    using(start, [{ error: overloaded }, { text: 'One.' }], async ({ model, received }) => {
      await mustThrow(hear(model), 'an answer with HTTP 503, which the run would retry,')
      mustEqual(received().length, 1, 'the number of requests')
    }),
}
