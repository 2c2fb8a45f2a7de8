/** What a server sends may be anything, so every field is looked at before it is used. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The text, or '' for anything else. */
export function textIn(value: unknown): string {
  return typeof value === 'string' ? value : ''
}
