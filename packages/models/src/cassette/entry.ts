import { ConfigError } from '@koagent/core'
import type { ModelPart } from '@koagent/core'
import { isObject } from '../values.ts'
import type { Failure } from './failure.ts'
import type { CassetteStore } from './store.ts'

/** One answer on a cassette, with the request that it is for. All of it is clean. */
export interface Entry {
  readonly key: string
  readonly provider: string
  readonly model: string
  readonly request: unknown
  readonly parts: readonly ModelPart[]
  /** How the answer broke off. */
  readonly error?: Failure
}

/** An entry, and where it stands. */
export interface Recorded extends Entry {
  readonly line: number
}

const version = 1

/** The first line. */
export const header: string = JSON.stringify({ cassette: version })

const again = 'Record it again, with record(model, cassette) in place of replay(cassette)'

/**
 * The entries of a cassette, frozen, in the order in which they were recorded.
 *
 * @throws ConfigError when there are none, when a newer version wrote them, or for a line that is none of ours
 */
export function entriesOf(store: CassetteStore): readonly Recorded[] {
  const broken = (line: number, what: string): ConfigError =>
    new ConfigError(`cassette '${store.name}', line ${line}, ${what}. ${again}`)
  const entries: Recorded[] = []
  let hasHeader = false
  for (const [index, text] of store.lines().entries()) {
    if (text.trim() === '') continue
    const line = index + 1
    const value = parsed(text)
    if (value === undefined) {
      throw broken(line, `is no JSON, but a write that was cut off or the mark of a merge conflict: ${text.slice(0, 60)}`)
    }
    if (hasHeader) {
      if (!isEntry(value)) throw broken(line, 'holds no recorded answer')
      entries.push(Object.freeze({ ...value, line }))
      continue
    }
    const written = isObject(value) ? value['cassette'] : undefined
    if (typeof written !== 'number') throw broken(line, 'is not the header of a cassette')
    if (written > version) {
      throw new ConfigError(
        `cassette '${store.name}' has format ${written}, and this version of @koagent/models reads up to ${version}: update it, or record again`,
      )
    }
    hasHeader = true
  }
  if (entries.length > 0) return entries
  throw new ConfigError(
    `cassette '${store.name}' holds no answers. Record them first: run once with record(model, cassette) in place of replay(cassette)`,
  )
}

/** Frozen all the way down. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json, (_, value: unknown) => Object.freeze(value))
  } catch {
    return undefined
  }
}

function isEntry(value: unknown): value is Entry {
  if (!isObject(value)) return false
  const { key, provider, model, request, parts, error } = value
  return (
    [key, provider, model].every((name) => typeof name === 'string') &&
    isObject(request) &&
    Array.isArray(parts) &&
    (error === undefined || (isObject(error) && typeof error['message'] === 'string' && typeof error['name'] === 'string'))
  )
}
