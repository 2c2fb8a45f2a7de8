import { ConfigError } from '../errors.ts'
import { deepFreeze, frozenCopy } from '../freeze.ts'
import { isObject } from '../json.ts'
import { isInput, userMessage } from '../message.ts'
import type { ContentPart, Input, Message, ToolResult, UserMessage } from '../message.ts'

type Fields = { readonly [field: string]: unknown }

const contentTypes = ['text', 'image', 'file']

/** The types of part that a message of this role may have. */
function typesOf(role: unknown): readonly string[] | undefined {
  switch (role) {
    case 'system':
      return textTypes
    case 'user':
      return contentTypes
    case 'assistant':
      return assistantTypes
    case 'tool':
      return toolTypes
    default:
  }
}

const textTypes = ['text']
const assistantTypes = ['text', 'reasoning', 'tool_call']
const toolTypes = ['tool_result']

/** Has a part what its type needs? */
function isWhole(part: Fields): boolean {
  switch (part['type']) {
    case 'text':
    case 'reasoning':
      return isString(part['text'])
    case 'image':
    case 'file':
      return isString(part['mediaType']) && (isString(part['data']) || isString(part['url']))
    case 'tool_call':
      return isString(part['callId']) && isString(part['toolName']) && isObject(part['args'])
    case 'tool_result':
      return isString(part['callId']) && isString(part['toolName']) && isToolResult(part)
    default:
      return false
  }
}

/**
 * @param where whose it is, for the error
 * @param at its place in a list
 * @throws ConfigError that says what is wrong when it does not have the shape of a message
 */
export function checkMessage(message: unknown, where: string, at?: number): asserts message is Message {
  const { role, content } = (isObject(message) ? message : {}) as { readonly role?: string; readonly content?: unknown }
  const types = typesOf(role)
  const isMessage = types && Array.isArray(content)
  if (isMessage && wrongIn(content, types) < 0) return
  const whose = at === undefined ? where : `${where}: messages[${at}]`
  if (!isMessage) throw new ConfigError(`${whose} is no message: give { role, content: [parts] }`)
  throw new ConfigError(`${whose}.content[${wrongIn(content, types)}] is no part of a ${role} message`)
}

/**
 * A copy of what somebody gives a run to read, as a frozen user message.
 *
 * @param what what it is, for the error
 * @throws ConfigError where it is none
 */
export function checkInput(input: Input, what: string): UserMessage {
  if (typeof input === 'string') return deepFreeze(userMessage(input))
  const message = isInput(input) ? userMessage(input) : undefined
  if (message?.role !== 'user') throw new ConfigError(`${what} is text, a list of parts or a user message`)
  checkMessage(message, what)
  return frozenCopy(message)
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
  return isObject(part) && types.includes(part['type']) && isWhole(part)
}

function isString(value: unknown): boolean {
  return typeof value === 'string'
}
