import { messageOf } from '../errors.ts'
import type { Json } from '../json.ts'

const maxDepth = 256
const maxValues = 1_000_000
const maxBytes = 32_768

/**
 * The JSON form of anything; it never throws, and `JSON.parse(JSON.stringify(json))` gives the same again.
 *
 * As `JSON.stringify` has it, and besides: BigInt, NaN and Infinity become strings; an Error is its name and message, a Set a list, a
 * Map an object; bytes (Buffer, ArrayBuffer, typed arrays) become base64, above 32 KiB a note. A cycle and nesting below 256 levels each
 * become a note in brackets, and so does the whole when reading it throws or there are more than a million values.
 */
export function toJson(value: unknown): Json {
  const open: unknown[] = []
  let count = 0
  function replace(this: Record<string, unknown>, key: string, json: unknown): unknown {
    if (++count > maxValues) throw new Error(`more than ${maxValues} values`)
    if (typeof json === 'bigint' || (typeof json === 'number' && !Number.isFinite(json))) return String(json)
    // Whoever copies it by assignment would set a prototype.
    if (key === '__proto__') return undefined
    if (typeof json !== 'object' || json === null) return json
    while (open.length > 0 && open.at(-1) !== this) open.pop()
    if (open.includes(json)) return '[circular]'
    if (open.length >= maxDepth) return '[nested too deeply]'
    const plain = plainForm(this[key]) ?? json
    open.push(plain)
    return plain
  }
  try {
    return JSON.parse(JSON.stringify(value, replace) ?? 'null') as Json
  } catch (error) {
    return `[unreadable: ${messageOf(error)}]`
  }
}

/** What JSON would lose or, of a Buffer, spell out. */
function plainForm(value: unknown): unknown {
  if (value instanceof Error) return { name: value.name, message: value.message }
  if (value instanceof Map) return Object.fromEntries(value)
  if (value instanceof Set) return [...value]
  return value instanceof ArrayBuffer || ArrayBuffer.isView(value) ? base64(value) : undefined
}

function base64(bytes: ArrayBuffer | ArrayBufferView): string {
  if (bytes.byteLength > maxBytes) return `[${bytes.byteLength} bytes]`
  const [buffer, start] = bytes instanceof ArrayBuffer ? [bytes, 0] : [bytes.buffer, bytes.byteOffset]
  return btoa(String.fromCharCode(...new Uint8Array(buffer, start, bytes.byteLength)))
}
