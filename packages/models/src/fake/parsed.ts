import type { Json } from '@koagent/core'

/** The value of a JSON text, or undefined where it is none. */
export function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
