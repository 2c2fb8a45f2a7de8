import { isDeepFrozen } from '../freeze.ts'
import { callsOf } from '../message.ts'
import type { Message, ToolCallPart } from '../message.ts'
import { isLegalName } from '../step/names.ts'

/** What is known of a history. */
export interface History {
  /** What is wrong with its calls and results: a sentence. */
  readonly problem?: string
  /** The first call whose tool name not every provider accepts. */
  readonly illegal?: ToolCallPart
}

/** A well-formed history that cannot change, by its first message. The next one mostly begins with the same messages. */
const known = new WeakMap<Message, Sound>()

interface Sound extends History {
  readonly messages: readonly Message[]
  readonly callIds: Set<string>
  readonly illegalAt: number
}

/**
 * Looks through a history. In a well-formed one every call id is unique and not empty, and each assistant message with calls is followed directly
 * by one tool message with exactly their results, in call order. Of a frozen history only what is new since the last time is looked at.
 */
export function inspect(messages: readonly Message[]): History {
  const first = messages[0]
  if (!first) return {}
  const before = isDeepFrozen(messages) ? known.get(first) : undefined
  if (before?.messages === messages) return before
  const start = before ? sharedStart(before.messages, messages) : 0
  const callIds = before?.callIds ?? new Set<string>()
  if (before) {
    known.delete(first)
    for (const { callId } of before.messages.slice(start).flatMap(calls)) callIds.delete(callId)
  }
  let { illegal, illegalAt } = before && before.illegalAt < start ? before : { illegal: undefined, illegalAt: Infinity }
  let open: readonly ToolCallPart[] = []
  for (let i = start; i < messages.length; i++) {
    const message = messages[i] as Message
    if (message.role === 'tool') {
      const problem = resultsProblem(message.content, open)
      if (problem) return { problem: `messages[${i}] ${problem}` }
      open = []
      continue
    }
    if (open.length > 0) return { problem: `messages[${i}] stands where the result of ${nameOf(open[0])} must be` }
    open = calls(message)
    for (const call of open) {
      const { callId } = call
      if (!callId) return { problem: `messages[${i}] has a call without an id` }
      if (callIds.has(callId)) return { problem: `messages[${i}] has the call id '${callId}' a second time` }
      callIds.add(callId)
      if (illegal || isLegalName(call.toolName)) continue
      illegal = call
      illegalAt = i
    }
  }
  if (open.length > 0) return { problem: `${nameOf(open[0])} has no result` }
  const sound: Sound = { messages, callIds, illegalAt, ...(illegal && { illegal }) }
  if (isDeepFrozen(messages)) known.set(first, sound)
  return sound
}

function calls(message: Message): ToolCallPart[] {
  return message.role === 'assistant' ? callsOf(message) : []
}

function sharedStart(before: readonly Message[], messages: readonly Message[]): number {
  let at = 0
  while (at < before.length && before[at] === messages[at]) at++
  // Never between calls and their results.
  return before[at]?.role === 'tool' ? at - 1 : at
}

function resultsProblem(results: readonly { readonly callId: string }[], open: readonly ToolCallPart[]): string | undefined {
  if (open.length === 0)
    return results[0] ? `has a result for call '${results[0].callId}' where no call is open` : 'is an empty tool message'
  const at = results.findIndex(({ callId }, n) => callId !== open[n]?.callId)
  const result = results[at]
  const call = open[result ? at : results.length]
  if (result)
    return `has a result for call '${result.callId}' where ${call ? `that of ${nameOf(call)} must be` : 'every call has its result'}`
  return call && `has no result for ${nameOf(call)}`
}

function nameOf(call: ToolCallPart | undefined): string {
  return `call '${call?.callId}' of tool '${call?.toolName}'`
}
