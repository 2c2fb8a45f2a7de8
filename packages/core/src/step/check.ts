import type { Message } from '../message.ts'
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
  const wrongEnd = endProblem(messages)
  if (wrongEnd) return wrongEnd
  const { problem, illegal } = inspect(messages)
  if (problem) return problem
  return illegal ? `call '${illegal.callId}': ${illegalName(illegal.toolName)}` : toolProblem(tools, toolChoice)
}

function endProblem(messages: readonly Message[]): string | undefined {
  const last = messages.at(-1)
  if (!last) return 'there are no messages'
  if (last.role !== 'user' && last.role !== 'tool') return `the last message is of role ${last.role}, and it must be user or tool`
  return last.content.length > 0 ? undefined : 'the last message is empty'
}

function toolProblem(tools: ModelRequest['tools'], toolChoice: ModelRequest['toolChoice']): string | undefined {
  const names = new Set<string>()
  for (const { name } of tools) {
    if (!isLegalName(name)) return illegalName(name)
    if (names.has(name)) return `two tools are named '${name}'`
    names.add(name)
  }
  if (typeof toolChoice !== 'object' || names.has(toolChoice.toolName)) return undefined
  return `toolChoice names the tool '${toolChoice.toolName}', which is not among the request's tools`
}

function illegalName(name: string): string {
  return `the tool name '${name}' is not of the form that providers accept (1 to 64 of a-z, A-Z, 0-9, _ and -)`
}
