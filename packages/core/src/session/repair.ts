import { callsOf } from '../message.ts'
import type { AssistantMessage, Message, ToolCallPart, ToolMessage, ToolResultPart } from '../message.ts'
import { errorResult } from '../tool/serialise.ts'
import { inspect } from './pairs.ts'

/**
 * Makes a history one that a provider accepts: every call id is unique and not empty, and each assistant message with calls is followed directly by
 * exactly one result for each, in call order.
 *
 * A missing result becomes an error result that says so. Results that are scattered or out of order are brought together; of several for
 * one call the first counts; a result belongs to the latest call of its id before it; one without a call is dropped. A call id that is used
 * a second time gets a suffix, and so does its result. All else stays as it is. A well-formed history comes back as the same object.
 */
export function repair(messages: readonly Message[]): readonly Message[] {
  return inspect(messages).problem ? rebuild(messages) : messages
}

/** The result of a call that was cut off: nobody knows how far it came. */
export function interrupted({ callId, toolName }: ToolCallPart): ToolResultPart {
  const text =
    'The call was interrupted before it finished; its result is not known. It may have taken effect: check before you try it again.'
  return { type: 'tool_result', callId, toolName, ...errorResult(text) }
}

/** The id itself when nobody has it, else with a suffix. An empty one becomes `call`. */
export function uniqueCallId(callId: string, taken: { has(callId: string): boolean }): string {
  const base = callId || 'call'
  let id = base
  for (let n = 2; taken.has(id); n++) id = `${base}_${n}`
  return id
}

interface Group {
  readonly calls: readonly ToolCallPart[]
  readonly results: (ToolResultPart | undefined)[]
}

function rebuild(messages: readonly Message[]): readonly Message[] {
  const groups = groupsOf(messages)
  // Ids that anyone has are left to their first holder, so that a new one never takes the id of a later call.
  const taken = new Set(
    messages.flatMap((message) => (message.role === 'assistant' ? callsOf(message).map(({ callId }) => callId) : [])),
  )
  const used = new Set<string>()
  const rename = ({ callId }: ToolCallPart): string => {
    const id = callId && !used.has(callId) ? callId : uniqueCallId(callId, taken)
    taken.add(id)
    used.add(id)
    return id
  }
  const repaired: Message[] = []
  messages.forEach((message, i) => {
    if (message.role === 'tool') return
    const group = groups.get(i)
    if (!group) {
      repaired.push(message)
      return
    }
    const ids = group.calls.map(rename)
    repaired.push(withIds(message as AssistantMessage, ids))
    const content = group.calls.map((call, n) => withId(group.results[n] ?? interrupted(call), ids[n] as string))
    const next = messages[i + 1]
    repaired.push(next?.role === 'tool' && isSame(next, content) ? next : { role: 'tool', content })
  })
  return repaired
}

function groupsOf(messages: readonly Message[]): Map<number, Group> {
  const groups = new Map<number, Group>()
  const latest = new Map<string, Group>()
  for (const [i, message] of messages.entries()) {
    if (message.role === 'assistant') {
      const calls = callsOf(message)
      if (calls.length === 0) continue
      const group: Group = { calls, results: calls.map(() => undefined) }
      groups.set(i, group)
      for (const { callId } of calls) latest.set(callId, group)
    } else if (message.role === 'tool') {
      for (const result of message.content) {
        const group = latest.get(result.callId)
        const free = group?.calls.findIndex(({ callId }, n) => callId === result.callId && !group.results[n]) ?? -1
        if (group && free >= 0) group.results[free] = result
      }
    }
  }
  return groups
}

function withIds(message: AssistantMessage, ids: readonly string[]): AssistantMessage {
  const calls = ids[Symbol.iterator]()
  const content = message.content.map((part) => (part.type === 'tool_call' ? withId(part, calls.next().value as string) : part))
  return content.every((part, n) => part === message.content[n]) ? message : { ...message, content }
}

function withId<Part extends ToolCallPart | ToolResultPart>(part: Part, callId: string): Part {
  return part.callId === callId ? part : { ...part, callId }
}

function isSame(message: ToolMessage, content: readonly ToolResultPart[]): boolean {
  return message.content.length === content.length && content.every((part, n) => part === message.content[n])
}
