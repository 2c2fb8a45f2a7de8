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
const parts: { readonly [type: string]: (part: Fields) => boolean } = {
  text: hasText,
  reasoning: hasText,
  image: hasData,
  file: hasData,
  tool_call: (part) => hasCall(part) && isObject(part['args']),
  tool_result: (part) => hasCall(part) && isToolResult(part),
}

/**
 * @param where whose it is, for the error
 * @param at its place in a list
 * @throws ConfigError that says what is wrong when it does not have the shape of a message
 */
export function checkMessage(message: unknown, where: string, at?: number): asserts message is Message {
  const { role, content } = (isObject(message) ? message : {}) as { readonly role?: string; readonly content?: unknown }
  const types = role === undefined ? undefined : roles.get(role)
  const whose = (): string => (at === undefined ? where : `${where}: messages[${at}]`)
  if (!types || !Array.isArray(content)) throw new ConfigError(`${whose()} is no message: give { role, content: [parts] }`)
  const wrong = content.findIndex((part) => !isPart(part, types))
  if (wrong >= 0) throw new ConfigError(`${whose()}.content[${wrong}] is no part of a ${role} message`)
}

/** Is it a text, image or file part by its structure? */
export function isContentPart(part: unknown): part is ContentPart {
  return isPart(part, contentTypes)
}

/** Is it a `ToolResult` by its structure: content parts and an error flag? */
export function isToolResult(value: unknown): value is ToolResult {
  if (!isObject(value)) return false
  const { content, isError } = value
  return typeof isError === 'boolean' && Array.isArray(content) && content.every(isContentPart)
}

function isPart(part: unknown, types: readonly string[]): boolean {
  if (!isObject(part)) return false
  const type = part['type'] as string
  return types.includes(type) && parts[type]?.(part) === true
}

function isString(value: unknown): boolean {
  return typeof value === 'string'
}
