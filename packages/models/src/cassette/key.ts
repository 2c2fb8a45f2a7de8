import { isObject } from '../values.ts'

/** What a request is found by: the SHA-256 of it and the model's name, in hex. Neither the order of fields nor absent ones count. */
export async function keyOf(provider: string, model: string, request: unknown): Promise<string> {
  const bytes = new TextEncoder().encode(canonical({ provider, model, request }))
  const hash = new Uint8Array(await globalThis.crypto.subtle.digest('SHA-256', bytes))
  return Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const names = Object.keys(value)
    .filter((name) => value[name] !== undefined)
    .toSorted()
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`
}
