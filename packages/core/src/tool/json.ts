import { messageOf } from '../errors.ts'
import { isObject } from '../json.ts'
import type { Json, JsonObject } from '../json.ts'

const maxDepth = 256
const maxValues = 1_000_000
const maxBytes = 32_768

/** A copy of a call's arguments as JSON has them, or what is wrong with them. */
export function jsonArgs(value: unknown): JsonObject | string {
  try {
    const args: unknown = JSON.parse(JSON.stringify(value) ?? 'null')
    if (isObject(args)) return args as JsonObject
    return `args must be an object, not ${value === null ? 'null' : typeof value}`
  } catch (error) {
    return `args must be JSON: ${messageOf(error)}`
  }
}

/**
 * The JSON form of anything; it never throws, and `JSON.parse(JSON.stringify(json))` gives the same again.
 *
 * As `JSON.stringify` has it, and besides: BigInt, NaN and Infinity become strings; an Error is its name and message, a Set a list, a
 * Map an object; bytes (Buffer, ArrayBuffer, typed arrays) become base64, above 32 KiB a note. A cycle and nesting below 256 levels each
 * become a note in brackets, and so does the whole when reading it throws or there are more than a million values.
 */
export function toJson(value: unknown): Json {
  const open: object[] = []
  let count = 0
  /** undefined stands for what JSON leaves out. */
  function write(part: unknown): Json | undefined {
    if (++count > maxValues) throw new Error(`more than ${maxValues} values`)
    if (typeof part === 'string' || typeof part === 'boolean' || part === null) return part
    // JSON has no negative zero.
    if (typeof part === 'number') return Number.isFinite(part) ? part + 0 : String(part)
    if (typeof part === 'bigint') return String(part)
    if (typeof part !== 'object') return undefined
    if (open.includes(part)) return '[circular]'
    if (open.length >= maxDepth) return '[nested too deeply]'
    open.push(part)
    const plain = plainForm(part)
    const json = plain === part ? members(part) : write(plain)
    open.pop()
    return json
  }
  function members(part: object): Json {
    const list: Json[] = []
    if (Array.isArray(part)) {
      for (const item of part) list.push(write(item) ?? null)
      return list
    }
    const fields: Record<string, Json> = {}
    for (const key of Object.keys(part)) {
      const field = write((part as Record<string, unknown>)[key])
      // An assignment to `__proto__` would set the prototype.
      if (field !== undefined && key !== '__proto__') fields[key] = field
    }
    return fields
  }
  try {
    return write(value) ?? null
  } catch (error) {
    return `[unreadable: ${messageOf(error)}]`
  }
}

/** The value itself, but for what JSON would lose and for what has a JSON form of its own. */
function plainForm(value: object): unknown {
  if (value instanceof Error) return { name: value.name, message: value.message }
  if (value instanceof Map) return Object.fromEntries(value)
  if (value instanceof Set) return [...value]
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return base64(value)
  const { toJSON } = value as { toJSON?: unknown }
  return typeof toJSON === 'function' ? toJSON.call(value, '') : value
}

function base64(bytes: ArrayBuffer | ArrayBufferView): string {
  if (bytes.byteLength > maxBytes) return `[${bytes.byteLength} bytes]`
  const [buffer, start] = bytes instanceof ArrayBuffer ? [bytes, 0] : [bytes.buffer, bytes.byteOffset]
  return btoa(String.fromCharCode(...new Uint8Array(buffer, start, bytes.byteLength)))
}
