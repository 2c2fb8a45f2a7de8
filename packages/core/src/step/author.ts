import { ModelError, setOrigin, toError } from '../errors.ts'
import type { Model } from '../model.ts'

/** Who gave an answer: a model, or nobody in particular where a layer did. */
export interface Author {
  readonly provider?: string
  readonly model?: string
}

export function authorOf({ provider, id }: Model): Author {
  return { provider, model: id }
}

/** What went wrong between a model and the run. By default it may go right the next time. */
export function mishap({ provider, model }: Author, what: string, code: string, retryable: boolean = true): ModelError {
  const who = provider === undefined ? "a layer's answer" : `model '${provider}/${model}'`
  return new ModelError(`${who} ${what}`, { code, retryable, provider })
}

/** A model's failure as an Error that says which model it was. */
export function modelFailure(thrown: unknown, { provider, model }: Author): Error {
  const name = `${provider}/${model}`
  const error = toError(thrown, `model '${name}'`)
  setOrigin(error, { model: name })
  return error
}
