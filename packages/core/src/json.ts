/** Any value that survives `JSON.parse(JSON.stringify(value))` unchanged. */
export type Json = string | number | boolean | null | readonly Json[] | JsonObject

/** A JSON object. `undefined` stands for an absent field. */
export interface JsonObject {
  readonly [key: string]: Json | undefined
}
