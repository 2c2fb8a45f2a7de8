import { isDeepFrozen } from '../freeze.ts'
import { callsOf } from '../message.ts'
import type { Message, ToolCallPart } from '../message.ts'

/** Histories that were found well-formed and cannot change. */
const sound = new WeakSet<readonly Message[]>()

/**
 * Says what is wrong with the calls and results of a history, or undefined. In a well-formed one every call id is unique and not empty, and
 * each assistant message with calls is followed directly by one tool message with exactly their results, in call order.
 */
export function pairProblem(messages: readonly Message[]): string | undefined {
  if (sound.has(messages)) return undefined
  const seen = new Set<string>()
  let open: readonly ToolCallPart[] = []
  for (const [i, message] of messages.entries()) {
    if (message.role === 'tool') {
      const { content } = message
      const at = content.findIndex(({ callId }, n) => callId !== open[n]?.callId)
      if (at >= 0) return `messages[${i}] has a result for call '${content[at]?.callId}' where ${wanted(open[at])}`
      if (open.length === 0) return `messages[${i}] is an empty tool message`
      if (content.length < open.length) return `messages[${i}] has no result for ${nameOf(open[content.length])}`
      open = []
      continue
    }
    if (open.length > 0) return `messages[${i}] stands where the result of ${nameOf(open[0])} must be`
    if (message.role !== 'assistant') continue
    open = callsOf(message)
    for (const { callId } of open) {
      if (!callId || seen.has(callId))
        return `messages[${i}] has ${callId ? `the call id '${callId}' a second time` : 'a call without an id'}`
      seen.add(callId)
    }
  }
  if (open.length > 0) return `${nameOf(open[0])} has no result`
  if (isDeepFrozen(messages)) sound.add(messages)
  return undefined
}

function nameOf(call: ToolCallPart | undefined): string {
  return `call '${call?.callId}' of tool '${call?.toolName}'`
}

function wanted(call: ToolCallPart | undefined): string {
  return call ? `that of ${nameOf(call)} must be` : 'no call is open'
}
