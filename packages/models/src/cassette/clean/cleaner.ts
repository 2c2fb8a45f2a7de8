import type { ModelPart, ModelRequest } from '@koagent/core'
import { isObject, jsonIn } from '../../values.ts'
import { isSecretName, scrub, scrubbed } from './secrets.ts'

/** Takes out of requests and answers what must not be kept. Contract: cleaning what is clean changes nothing. */
export interface Cleaner {
  readonly text: (text: string) => string
  /** The arguments of a call as the model's text: cleaned like the object that they are read as, where they are one. */
  readonly args: (text: string) => string
  /** A copy that shares nothing with the request. */
  request(request: ModelRequest): unknown
  part(part: ModelPart): unknown
}

/** What names things, which must still find each other, and what only its owner can read. */
const kept = new Set([
  'type',
  'role',
  'callId',
  'toolName',
  'blockId',
  'provider',
  'model',
  'mediaType',
  'reason',
  'providerData',
])

/** These hold messages, parts and the like; what any other field holds is anybody's. */
const nested = new Set(['messages', 'content', 'tools', 'toolChoice', 'settings'])

/** @param clean applied to every text that has been scrubbed */
export function cleanerOf(clean: (text: string) => string = (text) => text): Cleaner {
  const text = (dirty: string): string => clean(scrubText(dirty))

  function args(dirty: string): string {
    const value = structureIn(dirty)
    return isObject(value) ? rewritten(dirty, value, free(value, text)) : text(dirty)
  }

  function structure(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(structure)
    if (!isObject(value)) return free(value, text)
    return fields(value, (name, field) => {
      if (kept.has(name) || (name === 'data' && 'mediaType' in value)) return field
      if (nested.has(name)) return structure(field)
      // A schema has fields named after those that it describes.
      if (name === 'inputSchema') return free(field, text, false)
      return name === 'args' && typeof field === 'string' ? args(field) : free(field, text)
    })
  }

  return { text, args, request: (request) => structure(JSON.parse(JSON.stringify(request))), part: structure }
}

/** What a tool returned is mostly JSON text. */
function scrubText(dirty: string): string {
  const value = structureIn(dirty)
  return scrub(value === undefined ? dirty : rewritten(dirty, value, free(value, scrubText)))
}

/** JSON of any kind. Its fields' names tell of secrets, too. */
function free(value: unknown, text: (dirty: string) => string, byName: boolean = true, isSecret: boolean = false): unknown {
  if (typeof value === 'string') return isSecret && value !== '' ? scrubbed : text(value)
  // It stays a number, as whoever reads it expects one.
  if (typeof value === 'number') return isSecret ? 0 : value
  if (Array.isArray(value)) return value.map((item) => free(item, text, byName, isSecret))
  if (!isObject(value)) return value
  return fields(value, (name, field) => free(field, text, byName, isSecret || (byName && isSecretName(name))))
}

function fields(value: Record<string, unknown>, clean: (name: string, field: unknown) => unknown): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, clean(name, field)]))
}

/** The text of `after`; that of `before` where the two are the same, as it was written. */
function rewritten(text: string, before: unknown, after: unknown): string {
  const json = JSON.stringify(after)
  return json === JSON.stringify(before) ? text : json
}

/** The object or list that a text is, if it is one. */
function structureIn(text: string): unknown {
  return /^\s*[[{]/.test(text) ? jsonIn(text) : undefined
}
