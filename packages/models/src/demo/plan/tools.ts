import type { Json, JsonObject, ToolSpec } from '@koagent/core'
import { isStopWord, stems } from '../words/words.ts'

/** What a text parameter seems to hold, told by its name, format and description. */
export type Role = 'path' | 'email' | 'url' | 'command' | 'query' | 'content' | 'time' | 'id' | 'math' | 'text'

/** One parameter of a tool. Those of nested objects stand beside the others, with a longer path. */
export interface Parameter {
  readonly path: readonly string[]
  readonly name: ReadonlySet<string>
  /** The stems of its description. */
  readonly notes: ReadonlySet<string>
  readonly type: 'string' | 'number' | 'boolean'
  readonly role: Role
  /** It takes several values. */
  readonly list: boolean
  readonly integer: boolean
  readonly required: boolean
  readonly choices?: readonly Json[]
  readonly pattern?: RegExp
  readonly fallback?: Json
}

/** In order of preference. Stems, or beginnings of them. */
const roleNames: readonly (readonly [Role, RegExp])[] = [
  ['url', /^(?:url|uri|link|href|websit|webpag|host|hostnam|domain)$/],
  ['email', /^(?:email|mail|recipient|cc|bcc)$/],
  ['path', /^(?:path|fil|filenam|filepath|dir|director|directory|folder|cwd)$/],
  ['command', /^(?:command|cmd|script|shell|sql|statement)$/],
  ['math', /^(?:expression|express|formula|equation)$/],
  ['query', /^(?:query|q|pattern|search|term|keyword|regex|regexp|needl|phras|symbol)$/],
  ['content', /^(?:content|text|body|messag|note|comment|description|descript|prompt|memo|sentenc|paragraph|payload)$/],
  ['time', /^(?:dat|day|tim|when|due|deadlin|datetim|timestamp)$/],
  ['id', /^(?:id|uuid|cod|number|ref|referenc|sku|account|usernam)$/],
]

/** A tool with its words, as stems. */
export interface Tool {
  readonly spec: ToolSpec
  readonly name: ReadonlySet<string>
  readonly description: ReadonlySet<string>
  readonly parameters: readonly Parameter[]
  /** The names of all parameters. */
  readonly parameterNames: ReadonlySet<string>
  /** What describes the parameters, their choices too. */
  readonly notes: ReadonlySet<string>
}

export function toolFrom(spec: ToolSpec): Tool {
  const parameters = walk(spec.inputSchema, [], true, spec.inputSchema)
  return {
    spec,
    parameters,
    name: stems(spec.name),
    description: meaningful(spec.description),
    parameterNames: new Set(parameters.flatMap(({ name }) => [...name])),
    notes: new Set(parameters.flatMap(({ notes, choices = [] }) => [...notes, ...stems(choices.join(' '))])),
  }
}

function walk(schema: JsonObject, path: readonly string[], required: boolean, root: JsonObject): Parameter[] {
  const names = isObject(schema['properties']) ? Object.keys(schema['properties']) : []
  const needed = Array.isArray(schema['required']) ? schema['required'] : []
  return names.flatMap((name) => {
    const property = resolve((schema['properties'] as JsonObject)[name], root)
    const inner = required && needed.includes(name)
    // A schema may contain itself.
    if (isObject(property['properties']) && path.length < 3) return walk(property, [...path, name], inner, root)
    return [parameter([...path, name], property, inner, root)]
  })
}

function parameter(path: readonly string[], schema: JsonObject, required: boolean, root: JsonObject): Parameter {
  const list = schema['type'] === 'array'
  const item = list ? resolve(schema['items'], root) : schema
  const name = stems(path.at(-1) ?? '')
  const notes = meaningful(
    [schema['description'], schema['title'], item['description']].filter((text) => typeof text === 'string').join(' '),
  )
  const constant = item['const'] === undefined ? undefined : [item['const']]
  const choices = Array.isArray(item['enum']) ? (item['enum'] as readonly Json[]) : constant
  const fallback = schema['default'] ?? (required && choices?.length === 1 ? choices[0] : undefined)
  const type = Array.isArray(item['type']) ? item['type'].find((one) => one !== 'null') : item['type']
  const numeric = type === 'number' || type === 'integer'
  return {
    path,
    name,
    notes,
    list,
    required,
    type: numeric ? 'number' : type === 'boolean' ? 'boolean' : 'string',
    role: roleOf(name, notes, String(item['format'] ?? '')),
    integer: type === 'integer',
    ...(choices && { choices }),
    ...patternOf(item['pattern']),
    ...(fallback !== undefined && { fallback }),
  }
}

function patternOf(pattern: Json | undefined): { pattern?: RegExp } {
  try {
    return typeof pattern === 'string' ? { pattern: new RegExp(pattern, 'u') } : {}
  } catch {
    return {}
  }
}

function meaningful(text: string): ReadonlySet<string> {
  return stems(text.replace(/[\p{L}']+/gu, (word) => (isStopWord(word) ? '' : word)))
}

function roleOf(name: ReadonlySet<string>, notes: ReadonlySet<string>, format: string): Role {
  if (/^date|^time/.test(format)) return 'time'
  if (format.startsWith('email')) return 'email'
  if (/^ur[il]/.test(format)) return 'url'
  const named = (words: ReadonlySet<string>) =>
    roleNames.find(([, pattern]) => [...words].some((word) => pattern.test(word)))?.[0]
  const role = named(name)
  if (role) return role
  // `start` is a time, `start_location` is none.
  if (name.size === 1 && [...name].every((word) => /^(?:start|end|until|sinc|befor|after)$/.test(word))) return 'time'
  // A description mentions many things in passing; only these few are telling.
  const noted = named(notes)
  if (notes.has('dat') || notes.has('datetim')) return 'time'
  return noted === 'path' || noted === 'email' || noted === 'url' || noted === 'math' ? noted : 'text'
}

/** A schema without the wrapping that generators put around it: references, and unions with null. */
function resolve(schema: Json | undefined, root: JsonObject): JsonObject {
  if (!isObject(schema)) return {}
  const ref = schema['$ref']
  if (typeof ref === 'string' && ref.startsWith('#/')) {
    const target = ref
      .slice(2)
      .split('/')
      .reduce<Json | undefined>((at, key) => (isObject(at) ? at[key] : undefined), root)
    return isObject(target) ? { ...target, ...schema, $ref: undefined } : {}
  }
  const union = schema['anyOf'] ?? schema['oneOf']
  const choices = Array.isArray(union) ? union.filter((one) => isObject(one) && one['type'] !== 'null') : []
  const constants = choices.map((one) => (isObject(one) ? one['const'] : undefined))
  if (choices.length > 0 && constants.every((one) => one !== undefined)) return { ...schema, type: 'string', enum: constants }
  return choices.length > 0 ? { ...resolve(choices[0], root), ...schema } : schema
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
