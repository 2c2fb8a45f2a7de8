import { messageOf } from '../errors.ts'
import { isPlain } from '../freeze.ts'
import type { Json } from '../json.ts'

const maxDepth = 256
const maxNodes = 250_000
const maxBytes = 32_768

/**
 * The JSON form of anything; it never throws, and `JSON.parse(JSON.stringify(json))` gives the same again.
 *
 * - BigInt, NaN and Infinity become strings; undefined, functions and symbols are left out (`null` in a list or alone).
 * - `toJSON` is obeyed (Date, URL). An Error is its name and message, a RegExp its source, a Set a list, a Map an object, or a list of
 *   pairs when a key is no string. Any other class instance is its own fields, or its class name in brackets when it has none.
 * - Bytes (Buffer, ArrayBuffer, typed arrays) become base64, above 32 KiB a note.
 * - A cycle, nesting below 256 levels, what comes after 250,000 values, and what throws when it is read each become a note in brackets.
 */
export function toJson(value: unknown): Json {
  return new Writer().write(value) ?? null
}

class Writer {
  readonly #open: Set<object> = new Set()
  #nodes = 0

  /** undefined stands for what JSON leaves out. */
  write(value: unknown): Json | undefined {
    if (++this.#nodes > maxNodes) return '[left out: too many values]'
    switch (typeof value) {
      case 'string':
      case 'boolean':
        return value
      case 'number':
        // JSON has no negative zero.
        return Number.isFinite(value) ? value + 0 : String(value)
      case 'bigint':
        return String(value)
      case 'object':
        return value === null ? null : this.#object(value)
      default:
        return undefined
    }
  }

  #object(value: object): Json | undefined {
    if (this.#open.has(value)) return '[circular]'
    if (this.#open.size >= maxDepth) return '[left out: nested too deeply]'
    this.#open.add(value)
    try {
      return this.#fields(value)
    } catch (error) {
      return unreadable(error)
    } finally {
      this.#open.delete(value)
    }
  }

  #fields(value: object): Json | undefined {
    if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return bytes(value)
    if (value instanceof Error) return { name: String(value.name), message: String(value.message) }
    if (value instanceof RegExp) return String(value)
    if (value instanceof Map) {
      const pairs = [...value]
      return this.#fields(pairs.every(([key]) => typeof key === 'string') ? Object.fromEntries(pairs) : pairs)
    }
    if (value instanceof Set) return this.#fields([...value])
    if (Array.isArray(value)) return this.#list(value)
    const { toJSON } = value as { toJSON?: unknown }
    if (typeof toJSON === 'function') {
      const json: unknown = toJSON.call(value, '')
      // What it returns is not asked again: a toJSON that returns its own object would never end.
      if (json !== value) return this.write(json)
    }
    const keys = Object.keys(value)
    if (keys.length === 0 && !isPlain(value)) return `[${(value as object).constructor.name}]`
    const fields: Record<string, Json> = {}
    for (const key of keys) {
      const field = this.#field(value as Record<string, unknown>, key)
      // An assignment to `__proto__` would set the prototype.
      if (field !== undefined && key !== '__proto__') fields[key] = field
      if (this.#nodes > maxNodes) break
    }
    return fields
  }

  #list(value: readonly unknown[]): Json {
    const list: Json[] = []
    for (let i = 0; i < value.length && this.#nodes <= maxNodes; i++) list.push(this.write(value[i]) ?? null)
    return list
  }

  #field(value: Record<string, unknown>, key: string): Json | undefined {
    try {
      return this.write(value[key])
    } catch (error) {
      return unreadable(error)
    }
  }
}

function unreadable(error: unknown): string {
  try {
    return `[unreadable: ${messageOf(error)}]`
  } catch {
    return '[unreadable]'
  }
}

function bytes(value: ArrayBuffer | ArrayBufferView): string {
  if (value.byteLength > maxBytes) return `[${value.byteLength} bytes]`
  const view =
    value instanceof ArrayBuffer ? new Uint8Array(value) : new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
  return btoa(String.fromCharCode(...view))
}
