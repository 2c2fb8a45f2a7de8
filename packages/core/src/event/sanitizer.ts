import type { Json, JsonObject } from '../json.ts'
import type { Middleware } from '../middleware/middleware.ts'
import { streamed } from './event.ts'
import type { EventType } from './event.ts'

type Sanitize = NonNullable<Middleware['sanitize']>

/** What stands for a string whose sanitizer failed. */
const withheld = '[withheld: a sanitizer failed]'

/** Fields that say what and where, never content, wherever core itself puts them. */
const structure = new Set(
  'type id runId parentRunId agent path stepId messageId callId toolName middleware point name status decision finishReason field role provider model mediaType blockId code by asker'.split(
    ' ',
  ),
)
/** Fields that hold somebody else's JSON: there every string is content, whatever its field is called. */
const free = new Set(['args', 'value', 'data', 'before', 'after', 'providerData'])

/** Applies every sanitizer of an agent to content strings. */
export class Sanitizer {
  readonly #functions: readonly Sanitize[]

  constructor(functions: readonly Sanitize[]) {
    this.#functions = functions
  }

  event<E extends { readonly type: EventType }>(event: E): E {
    // No rewrite of whole strings fits a piece: transforms are for those.
    return streamed.has(event.type) ? event : (this.#walk(event, [], false) as E)
  }

  /** A call's arguments as events show them. */
  args(args: JsonObject): JsonObject {
    return this.#walk(args, ['args'], true) as JsonObject
  }

  /** Any JSON value: every string in it counts as content. */
  value(value: Json): Json {
    return this.#walk(value, [], true) as Json
  }

  #walk(value: unknown, path: readonly string[], isFree: boolean): unknown {
    if (typeof value === 'string') return this.#text(value, path)
    if (typeof value !== 'object' || value === null) return value
    const entries = Object.entries(value).map(([key, item]): [string, unknown] => [
      key,
      !isFree && structure.has(key) ? item : this.#walk(item, [...path, key], isFree || free.has(key)),
    ])
    return Array.isArray(value) ? entries.map(([, item]) => item) : Object.fromEntries(entries)
  }

  #text(text: string, path: readonly string[]): string {
    let clean = text
    for (const sanitize of this.#functions) {
      try {
        clean = String(sanitize(clean, path))
      } catch {
        return withheld
      }
    }
    return clean
  }
}
