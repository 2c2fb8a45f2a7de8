import { fromJSONSchema, globalRegistry, toJSONSchema } from 'zod'
import type { ZodType } from 'zod'
import { messageOf } from '../errors.ts'
import { copyJson, frozenCopy } from '../freeze.ts'
import { attempt, issuesText } from '../issues.ts'
import type { Issue } from '../issues.ts'
import { isObject } from '../json.ts'
import type { JsonObject } from '../json.ts'

/** A schema of any library that follows Standard Schema v1 (standardschema.dev). Only its structure counts. */
export interface StandardSchemaLike<Output = unknown> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    /** Standard JSON Schema v1: what tells the model which arguments there are. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: string }) => Record<string, unknown> }
  }
}

type StandardResult<Output> = { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly Issue[] }

/** A value that passed its schema, in the schema's output form, or a text that says what is wrong with it. */
export type Validated = { readonly ok: true; readonly output: unknown } | { readonly ok: false; readonly issues: string }

/** Contract: does not throw, reject or change its argument. A schema that throws counts as a refusal with its message. */
export type Validate = (value: unknown) => Validated | Promise<Validated>

/** What a tool takes: shown to the model as JSON Schema, and checked before a call. */
export interface Schema {
  /** Of type 'object'. Frozen. */
  readonly jsonSchema: JsonObject
  /** Validates a copy, so that the output shares nothing with `args`. A promise only where the schema itself is asynchronous. */
  readonly validate: (args: JsonObject) => Validated | Promise<Validated>
}

/**
 * The schema of a tool's arguments, from a Standard Schema that carries its JSON Schema (zod 4, ArkType, Valibot's
 * `toStandardJsonSchema`), or from a JSON Schema, which is validated by zod.
 *
 * @throws ConfigError that names the tool: no schema, none that the model can be shown, not of type 'object'.
 */
export function toSchema(input: StandardSchemaLike | JsonObject, toolName: string): Schema {
  const validate = toValidate(input, toolName)
  const jsonSchema = attempt(unusable(toolName), () => shown(input))
  return Object.freeze({
    jsonSchema: frozenCopy(jsonSchema),
    validate(args: JsonObject) {
      try {
        return validate(copyJson(args))
      } catch (error) {
        // Nested too deeply to be copied.
        return refuse(error)
      }
    },
  })
}

/**
 * A check for any value, from a Standard Schema or a JSON Schema.
 *
 * @throws ConfigError that names the tool when it is neither, or uses JSON Schema keywords that zod cannot check.
 */
export function toValidate(schema: StandardSchemaLike | JsonObject, toolName: string): Validate {
  const standard = attempt(unusable(toolName), () => (isStandard(schema) ? schema : fromJson(schema)))['~standard']
  return (value) => {
    try {
      const result = standard.validate(value)
      return 'then' in result ? Promise.resolve(result).then(settle).catch(refuse) : settle(result)
    } catch (error) {
      return refuse(error)
    }
  }
}

function unusable(toolName: string): string {
  return `tool '${toolName}' has no usable schema`
}

function settle(result: StandardResult<unknown>): Validated {
  return result.issues ? { ok: false, issues: issuesText(result.issues) } : { ok: true, output: result.value }
}

function refuse(error: unknown): Validated {
  return { ok: false, issues: messageOf(error) }
}

// ArkType's schemas are functions.
function isStandard(input: unknown): input is StandardSchemaLike {
  return (isObject(input) || typeof input === 'function') && '~standard' in input
}

function fromJson(schema: JsonObject): StandardSchemaLike {
  if (!isObject(schema)) throw new TypeError('give a Standard Schema such as z.object({ path: z.string() }), or a JSON Schema')
  return fromJSONSchema(schema, { defaultTarget: 'definitions' in schema ? 'draft-7' : 'draft-2020-12' })
}

/** What the model is shown: which draft it is tells it nothing. */
function shown(input: StandardSchemaLike | JsonObject): JsonObject {
  const { $schema: _, ...json } = (isStandard(input) ? converted(input) : input) as JsonObject
  if (json['type'] === 'object') return json
  throw new TypeError(`its type must be "object" and is ${JSON.stringify(json['type'])}: wrap it in an object`)
}

function converted(schema: StandardSchemaLike): object {
  // zod/mini leaves its converter out.
  if ('_zod' in schema) return toJSONSchema(schema as never, { io: 'input', metadata })
  const { jsonSchema, vendor } = schema['~standard']
  if (jsonSchema) return jsonSchema.input({ target: 'draft-2020-12' })
  throw new TypeError(`'${vendor}' gives no JSON Schema for it; of Valibot's, toStandardJsonSchema(schema) does`)
}

// Without ids: what has one is written as a reference, also at the root, where providers want to read the type.
const metadata = {
  get(schema: ZodType) {
    const { id: _, ...meta } = globalRegistry.get(schema) ?? {}
    return meta
  },
} as typeof globalRegistry
