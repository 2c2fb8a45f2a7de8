import { ConfigError } from '../errors.ts'
import { isObject } from '../json.ts'
import type { ContentPart, Message, ToolResult } from '../message.ts'

type Fields = { readonly [field: string]: unknown }

const contentTypes = ['text', 'image', 'file']

/** The types of part that a message of each role may have. */
const roles: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['system', ['text']],
  ['user', contentTypes],
  ['assistant', ['text', 'reasoning', 'tool_call']],
  ['tool', ['tool_result']],
])

const hasText = ({ text }: Fields): boolean => isString(text)
const hasData = ({ mediaType, data, url }: Fields): boolean => isString(mediaType) && (isString(data) || isString(url))
const hasCall = ({ callId, toolName }: Fields): boolean => isString(callId) && isString(toolName)

/** What a part of each type must have. */
const parts: ReadonlyMap<unknown, (part: Fields) => boolean> = new Map([
  ['text', hasText],
  ['reasoning', hasText],
  ['image', hasData],
  ['file', hasData],
  ['tool_call', (part) => hasCall(part) && isObject(part['args'])],
  ['tool_result', (part) => hasCall(part) && isToolResult(part)],
])

/**
 * @param where whose it is, for the error
 * @param at its place in a list
 * @throws ConfigError that says what is wrong when it does not have the shape of a message
 */
export function checkMessage(message: unknown, where: string, at?: number): asserts message is Message {
  const { role, content } = (isObject(message) ? message : {}) as { readonly role?: string; readonly content?: unknown }
  const types = role === undefined ? undefined : roles.get(role)
  const isMessage = types && Array.isArray(content)
  if (isMessage && wrongIn(content, types) < 0) return
  const whose = at === undefined ? where : `${where}: messages[${at}]`
  if (!isMessage) throw new ConfigError(`${whose} is no message: give { role, content: [parts] }`)
  throw new ConfigError(`${whose}.content[${wrongIn(content, types)}] is no part of a ${role} message`)
}

/** Is it a text, image or file part by its structure? */
export function isContentPart(part: unknown): part is ContentPart {
  return isPart(part, contentTypes)
}

/** Is it a `ToolResult` by its structure: content parts and an error flag? */
export function isToolResult(value: unknown): value is ToolResult {
  if (!isObject(value)) return false
  const { content, isError } = value
  return typeof isError === 'boolean' && Array.isArray(content) && wrongIn(content, contentTypes) < 0
}

/** Where the first part is that is none of these types, or -1. */
function wrongIn(content: readonly unknown[], types: readonly unknown[]): number {
  for (let i = 0; i < content.length; i++) if (!isPart(content[i], types)) return i
  return -1
}

function isPart(part: unknown, types: readonly unknown[]): boolean {
  return isObject(part) && types.includes(part['type']) && parts.get(part['type'])?.(part) === true
}

function isString(value: unknown): boolean {
  return typeof value === 'string'
}
