import type { Json } from '@koagent/core'

/** What a server sends may be anything, so every field is looked at before it is used. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** A count, or undefined for anything that is none. */
export function countIn(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}

/** The text, or '' for anything else. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** The value of a JSON text, or undefined where it is none. */
export function jsonIn(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}
