import { ConfigError } from '../errors.ts'
import type { Message } from '../message.ts'
import { isContentPart } from '../tool/content.ts'

type Fields = { readonly [name: string]: unknown }

/** What a part of each role must look like; a problem is told by its path. */
const roles: { readonly [role: string]: (part: Fields) => string | undefined } = {
  system: (part) => (part['type'] === 'text' ? strings(part, 'text') : 'is no text part'),
  user: (part) => (isContentPart(part) ? undefined : 'is no text, image or file part'),
  assistant(part) {
    if (part['type'] === 'text' || part['type'] === 'reasoning') return strings(part, 'text')
    if (part['type'] !== 'tool_call') return 'is no text, reasoning or tool_call part'
    return (
      strings(part, 'callId', 'toolName') ??
      (isObject(part['args']) && !Array.isArray(part['args']) ? undefined : '.args is no object')
    )
  },
  tool(part) {
    if (part['type'] !== 'tool_result') return 'is no tool_result part'
    const content = part['content']
    if (!Array.isArray(content) || !content.every(isContentPart)) return '.content is no list of text, image or file parts'
    return strings(part, 'callId', 'toolName') ?? (typeof part['isError'] === 'boolean' ? undefined : '.isError is no boolean')
  },
}

/** @throws ConfigError that says what is wrong when it does not have the shape of a message; `where` says whose it is. */
export function checkMessage(message: unknown, where: string): asserts message is Message {
  const problem = problemOf(message)
  if (problem) throw new ConfigError(where + problem)
}

function problemOf(message: unknown): string | undefined {
  if (!isObject(message)) return ' is no message'
  const { role, content } = message
  const check = typeof role === 'string' && Object.hasOwn(roles, role) ? roles[role] : undefined
  if (!check) return `.role is ${JSON.stringify(role)}, and it must be system, user, assistant or tool`
  if (!Array.isArray(content))
    return `.content is ${typeof content}, and it must be a list of parts, such as [{ type: 'text', text }]`
  for (const [i, part] of content.entries()) {
    const problem = isObject(part) ? check(part) : 'is no part'
    if (problem) return `.content[${i}]${problem.startsWith('.') ? '' : ' '}${problem}`
  }
  return undefined
}

function strings(part: Fields, ...names: readonly string[]): string | undefined {
  const wrong = names.find((name) => typeof part[name] !== 'string')
  return wrong && `.${wrong} is no string`
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}
