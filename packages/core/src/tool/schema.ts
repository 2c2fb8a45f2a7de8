import { fromJSONSchema, toJSONSchema } from 'zod'
import type { ZodType } from 'zod'
import { ConfigError, messageOf } from '../errors.ts'
import { copyJson, frozenCopy } from '../freeze.ts'
import { issuesText } from '../issues.ts'
import type { Issue } from '../issues.ts'
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

const example = 'z.object({ path: z.string() })'

/**
 * The schema of a tool's arguments, from a Standard Schema that carries its JSON Schema (zod 4, ArkType, Valibot's
 * `toStandardJsonSchema`), or from a JSON Schema, which is shown as it is and validated by zod.
 *
 * @throws ConfigError that names the tool: no schema, none that the model can be shown, not of type 'object'.
 */
export function toSchema(input: StandardSchemaLike | JsonObject, toolName: string): Schema {
  const validate = toValidate(input, toolName)
  const jsonSchema = isStandard(input) ? standardJson(input, toolName) : inlineRoot(input)
  if (jsonSchema['type'] !== 'object') {
    throw new ConfigError(
      `tool '${toolName}': its input schema is ${kindOf(jsonSchema)}, and a tool's arguments are an object: wrap it, as in ${example}`,
    )
  }
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
  if (!isStandard(schema)) {
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
      throw new ConfigError(
        `tool '${toolName}' has no usable schema: give a Standard Schema such as ${example}, or a JSON Schema object`,
      )
    }
    schema = fromJson(schema, toolName)
  }
  const standard = schema['~standard']
  return (value) => {
    try {
      const result = standard.validate(value)
      return 'then' in result ? Promise.resolve(result).then(settle).catch(refuse) : settle(result)
    } catch (error) {
      return refuse(error)
    }
  }
}

function settle(result: StandardResult<unknown>): Validated {
  return result.issues ? { ok: false, issues: issuesText(result.issues) } : { ok: true, output: result.value }
}

function refuse(error: unknown): Validated {
  return { ok: false, issues: messageOf(error) }
}

// ArkType's schemas are functions.
function isStandard(input: unknown): input is StandardSchemaLike {
  return ((typeof input === 'object' && input !== null) || typeof input === 'function') && '~standard' in input
}

function fromJson(schema: JsonObject, toolName: string): ZodType {
  try {
    return fromJSONSchema(schema, { defaultTarget: 'definitions' in schema ? 'draft-7' : 'draft-2020-12' })
  } catch (error) {
    throw new ConfigError(
      `tool '${toolName}': its JSON Schema cannot be checked here (${messageOf(error)}): change it, or give a Standard Schema whose jsonSchema.input() returns it`,
      { cause: error },
    )
  }
}

function standardJson(schema: StandardSchemaLike, toolName: string): JsonObject {
  const { jsonSchema, vendor } = schema['~standard']
  // zod/mini leaves its converter out.
  if (!jsonSchema && !('_zod' in schema)) {
    throw new ConfigError(
      `tool '${toolName}': a schema of '${vendor}' without its JSON Schema cannot be shown to the model: give one that follows Standard JSON Schema, such as zod 4's, ArkType's or Valibot's toStandardJsonSchema(schema)`,
    )
  }
  try {
    const json = jsonSchema ? jsonSchema.input({ target: 'draft-2020-12' }) : toJSONSchema(schema as never, { io: 'input' })
    // Which draft it is tells a model nothing.
    const { $schema: _, ...rest } = json as JsonObject
    return inlineRoot(rest)
  } catch (error) {
    throw new ConfigError(
      `tool '${toolName}': its input schema has no JSON Schema form (${messageOf(error)}): use types that JSON has`,
      { cause: error },
    )
  }
}

// A schema with a name of its own is written as a reference at the root, where providers want to read the type.
function inlineRoot(json: JsonObject): JsonObject {
  const { $ref, ...rest } = json
  const [, group = '', name = ''] = (typeof $ref === 'string' && /^#\/(\$defs|definitions)\/([^/]+)$/.exec($ref)) || []
  // As JSON pointers write them.
  const key = name.replaceAll('~1', '/').replaceAll('~0', '~')
  const { [key]: root, ...others } = (json[group] ?? {}) as JsonObject
  if (!root) return json
  // A recursive schema still refers to itself by name.
  const recursive = JSON.stringify([root, others]).includes(JSON.stringify($ref))
  const definitions = recursive ? json[group] : Object.keys(others).length > 0 ? others : undefined
  return copyJson({ ...rest, ...(root as JsonObject), [group]: definitions }) as JsonObject
}

function kindOf({ type }: JsonObject): string {
  return type === undefined ? 'of no single type' : `of type ${JSON.stringify(type)}`
}
