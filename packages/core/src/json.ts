/** Any value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject

/** A JSON object. `undefined` stands for an absent field. */
export interface JsonObject {
  readonly [key: string]: Json | undefined
}

/** Is it an object and no list? What its fields hold is not known. */
export function isObject(value: unknown): value is { readonly [field: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
