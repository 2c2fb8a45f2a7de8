import type { ModelRequest } from '../model.ts'
import { inspect } from '../session/pairs.ts'
import { isLegalName } from './names.ts'

/**
 * Says what a provider would refuse in a request, or undefined. To be asked about the request as it is sent, with its tool names mapped.
 *
 * Calls and results pair; the end is user or tool content; tool names, also of calls, are legal and those of tools unique; a tool that
 * `toolChoice` names is there.
 */
export function checkRequest({ messages, tools, toolChoice }: ModelRequest): string | undefined {
  const last = messages.at(-1)
  if ((last?.role !== 'user' && last?.role !== 'tool') || last.content.length === 0)
    return 'its last message must be a user or tool message with content'
  const { problem, illegal } = inspect(messages)
  if (problem) return problem
  const names = new Set<string>()
  for (const { name } of tools) {
    if (names.has(name)) return `two tools are named '${name}'`
    names.add(name)
  }
  const wrong = illegal?.toolName ?? tools.find(({ name }) => !isLegalName(name))?.name
  if (wrong !== undefined) return `the tool name '${wrong}' must be 1 to 64 of a-z, A-Z, 0-9, _ and -`
  if (typeof toolChoice === 'object' && !names.has(toolChoice.toolName))
    return `its toolChoice '${toolChoice.toolName}' is none of its tools`
  return undefined
}
