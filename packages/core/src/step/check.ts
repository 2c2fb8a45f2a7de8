import { isDeepFrozen } from '../freeze.ts'
import type { ModelRequest, ToolSpec } from '../model.ts'
import { inspect } from '../session/pairs.ts'
import type { Sound } from '../session/pairs.ts'
import { isLegalName } from './names.ts'

/**
 * Says what a provider would refuse in a request, or undefined. To be asked about the request as it is sent, with its tool names mapped.
 *
 * Calls and results pair; the end is user or tool content; tool names, also of calls, are legal and those of tools unique; a tool that
 * `toolChoice` names is there.
 */
export function checkRequest({ messages, tools, toolChoice }: ModelRequest, known?: Sound): string | undefined {
  const last = messages.length > 0 ? messages[messages.length - 1] : undefined
  if ((last?.role !== 'user' && last?.role !== 'tool') || last.content.length === 0)
    return 'its last message must be a user or tool message with content'
  const history = inspect(messages, known)
  if (history.problem !== undefined) return history.problem
  const problem = checkTools(tools)
  if (problem !== undefined) return problem
  const [illegal] = history.illegal
  if (illegal) return badName(illegal.toolName)
  if (typeof toolChoice === 'object' && !tools.some(({ name }) => name === toolChoice.toolName))
    return `its toolChoice '${toolChoice.toolName}' is none of its tools`
  return undefined
}

/** Lists that cannot change and were found to be right: mostly the one of an agent, step after step. */
const right = new WeakSet<readonly ToolSpec[]>()

function checkTools(tools: readonly ToolSpec[]): string | undefined {
  if (right.has(tools)) return undefined
  const names = new Set<string>()
  for (const { name } of tools) {
    if (names.has(name)) return `two tools are named '${name}'`
    if (!isLegalName(name)) return badName(name)
    names.add(name)
  }
  if (isDeepFrozen(tools)) right.add(tools)
  return undefined
}

function badName(name: string): string {
  return `the tool name '${name}' must be 1 to 64 of a-z, A-Z, 0-9, _ and -`
}
