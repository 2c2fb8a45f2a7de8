import { ModelError } from '@koagent/core'
import type { Model, ModelOptions, ModelPart, ModelRequest } from '@koagent/core'
import { rootOf } from '../model-error/failure.ts'
import { cleanAnswer } from './clean/answer.ts'
import { cleanerOf } from './clean/cleaner.ts'
import { header } from './entry.ts'
import type { Entry } from './entry.ts'
import { failureOf } from './failure.ts'
import { keyOf } from './key.ts'
import type { CassetteStore } from './store.ts'

/** Options of {@link record}. */
export interface RecordOptions {
  /**
   * Evens out what is private or changes from run to run, such as a name or a date in the instructions: applied to every text of requests, answers and
   * error messages, once secrets are out of it. Give the same function to `record` and `replay`. On its own result it must change nothing. Default: none.
   *
   * @example
   * const clean = (text: string) => text.replace(/\d{4}-\d\d-\d\d/g, '<date>')
   */
  readonly clean?: (text: string) => string
}

/**
 * The same model, whose answers and failures are written to a cassette, for `replay`. A call that was aborted, or that nobody read to its end, is not.
 *
 * Recording again replaces: the first answer that is written through a store drops what was there, and all later ones are added, of every model that
 * records to this store.
 *
 * Secrets are not written. Tokens of well-known shapes and the values of fields such as `api_key` or `password` become `[scrubbed]`, in requests and in
 * answers: tools of a replayed run get that in their arguments. Opaque `providerData` and base64 data stay as they are.
 *
 * Contract: parts pass untouched and at once. What cannot be written is thrown after the last part, as a `ModelError` (code 'cassette_write', not
 * retryable).
 *
 * @example
 * const model = process.env.RECORD ? record(openai({ model: 'gpt-5.2' }), cassette) : replay(cassette)
 */
export function record(model: Model, store: CassetteStore, { clean }: RecordOptions = {}): Model {
  const { provider, id } = model
  const cleaner = cleanerOf(clean)
  const write = writerOf(store)

  async function keep(asked: unknown, parts: readonly ModelPart[], error: Error | undefined): Promise<void> {
    try {
      const key = await keyOf(provider, id, asked)
      const entry: Entry = {
        key,
        provider,
        model: id,
        request: asked,
        parts: cleanAnswer(parts.flatMap(jsonOf), cleaner) as ModelPart[],
        ...(error && { error: failureOf(error, cleaner.text) }),
      }
      await write(JSON.stringify(entry))
    } catch (cause) {
      const what = `the answer of model '${provider}/${id}' could not be recorded in cassette '${store.name}': ${rootOf(cause)}`
      throw new ModelError(what, { code: 'cassette_write', retryable: false, provider, cause })
    }
  }

  return {
    provider,
    id,
    async *stream(request: ModelRequest, options: ModelOptions): AsyncGenerator<ModelPart> {
      // As it is now: the list of messages may grow while the answer comes.
      const asked = cleaner.request(request)
      const parts: ModelPart[] = []
      let ended = false
      let failure: Error | undefined
      try {
        for await (const part of model.stream(request, options)) {
          parts.push(part)
          // Whoever has the finish may leave.
          ended = part.type === 'finish'
          yield part
        }
        ended = true
      } catch (error) {
        if (error instanceof Error) failure = error
        throw error
      } finally {
        if ((ended || failure) && !options.signal.aborted) await keep(asked, parts, failure)
      }
    },
  }
}

/** A part as JSON. What a provider sent raw may be none; nobody relies on it. */
function jsonOf(part: ModelPart): ModelPart[] {
  try {
    return [JSON.parse(JSON.stringify(part)) as ModelPart]
  } catch (error) {
    if (part.type === 'raw') return []
    throw error
  }
}

/** For each store: several models may record to one, and it begins only once. */
const writers = new WeakMap<CassetteStore, (line: string) => Promise<void>>()

function writerOf(store: CassetteStore): (line: string) => Promise<void> {
  const known = writers.get(store)
  if (known) return known
  let hasBegun = false
  let last: Promise<void> = Promise.resolve()
  const write = (line: string): Promise<void> => {
    const written = last.then(async () => {
      if (!hasBegun) await store.begin(header)
      hasBegun = true
      await store.append(line)
    })
    // Its own caller hears of it; the next one writes all the same.
    last = written.catch(() => {})
    return written
  }
  writers.set(store, write)
  return write
}
