import { ConfigError } from '@koagent/core'
import type { Model, ModelOptions, ModelPart, ModelRequest } from '@koagent/core'
import { cleanerOf } from './clean/cleaner.ts'
import { entriesOf } from './entry.ts'
import type { Recorded } from './entry.ts'
import { errorOf } from './failure.ts'
import { keyOf } from './key.ts'
import { miss } from './miss.ts'
import type { RecordOptions } from './record.ts'
import type { CassetteStore } from './store.ts'

/** Options of {@link replay}. `clean` is the one of `record`. */
export interface ReplayOptions extends RecordOptions {
  /** Which of several models on the cassette, as 'provider/id'. Default: the only one. */
  readonly model?: string
}

/**
 * A model that answers from a cassette, without a network. It has the provider and id of the model that was recorded.
 *
 * Contract: that of `Model`. A request that was recorded several times gets its answers in recorded order, then the last one again and again; failures are
 * thrown as they were, without their causes. A request that was not recorded is a `ModelError` (code 'cassette_miss', not retryable) that shows how it
 * differs from the nearest one that was. Parts are frozen. The signal is looked at before every part.
 *
 * @throws ConfigError at once when the cassette holds nothing, cannot be read, or leaves open which model is meant
 */
export function replay(store: CassetteStore, { model: wanted, clean }: ReplayOptions = {}): Model {
  const entries = ofOneModel(entriesOf(store), wanted, store.name)
  const { provider, model } = entries[0]
  const cleaner = cleanerOf(clean)
  const given = new Map<string, number>()

  async function next(request: ModelRequest): Promise<Recorded> {
    const asked = cleaner.request(request)
    const key = await keyOf(provider, model, asked)
    const count = given.get(key) ?? 0
    given.set(key, count + 1)
    const answers = entries.filter((entry) => entry.key === key)
    const answer = answers[count] ?? answers.at(-1)
    if (!answer) throw miss(store.name, entries, asked)
    return answer
  }

  return {
    provider,
    id: model,
    async *stream(request: ModelRequest, { signal }: ModelOptions): AsyncGenerator<ModelPart> {
      signal.throwIfAborted()
      const { parts, error } = await next(request)
      for (const part of parts) {
        signal.throwIfAborted()
        yield part
      }
      signal.throwIfAborted()
      if (error) throw errorOf(error)
    },
  }
}

type Some<T> = readonly [T, ...T[]]

function ofOneModel(entries: readonly Recorded[], wanted: string | undefined, store: string): Some<Recorded> {
  const names = [...new Set(entries.map(nameOf))]
  const name = wanted ?? (names.length === 1 ? names[0] : undefined)
  const [first, ...others] = entries.filter((entry) => nameOf(entry) === name)
  if (first) return [first, ...others]
  const known = names.map((each) => `'${each}'`).join(', ')
  if (name === undefined) {
    throw new ConfigError(
      `cassette '${store}' holds several models (${known}): say which, as in replay(cassette, { model: '${names[0]}' })`,
    )
  }
  throw new ConfigError(`cassette '${store}' holds nothing of model '${name}', only of ${known}: choose one, or record again`)
}

function nameOf({ provider, model }: Recorded): string {
  return `${provider}/${model}`
}
