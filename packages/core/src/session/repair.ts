import { callsOf } from '../message.ts'
import type { AssistantMessage, Message, ToolCallPart, ToolResultPart } from '../message.ts'
import { errorResult } from '../tool/serialise.ts'
import { inspect } from './pairs.ts'

/**
 * Makes a history one that a provider accepts: every call id is unique and not empty, and each assistant message with calls is followed directly by
 * exactly one result for each, in call order.
 *
 * A missing result becomes an error result that says so. Results that are scattered or out of order are brought together; of several for
 * one call the first counts; a result belongs to the latest call of its id before it; one without a call is dropped. A call id that is used
 * a second time gets a suffix, and so does its result. Other messages stay as they are. A well-formed history comes back as the same object.
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

/** A call with the id and the result that it will have. */
interface Slot {
  readonly call: ToolCallPart
  readonly callId: string
  result?: ToolResultPart
}

function rebuild(messages: readonly Message[]): readonly Message[] {
  // Ids that anyone has are left to their first holder, so that a new one never takes the id of a later call.
  const taken = new Set(messages.flatMap(callsOf).map(({ callId }) => callId))
  const used = new Set<string>()
  const latest = new Map<string, readonly Slot[]>()
  const kept: { readonly message: Message; readonly slots: readonly Slot[] }[] = []
  for (const message of messages) {
    if (message.role === 'tool') {
      for (const result of message.content) {
        const slot = latest.get(result.callId)?.find(({ call, result: has }) => call.callId === result.callId && !has)
        if (slot) slot.result = result
      }
      continue
    }
    const slots = callsOf(message).map((call): Slot => {
      const callId = call.callId && !used.has(call.callId) ? call.callId : uniqueCallId(call.callId, taken)
      taken.add(callId)
      used.add(callId)
      return { call, callId }
    })
    for (const { call } of slots) latest.set(call.callId, slots)
    kept.push({ message, slots })
  }
  return kept.flatMap(({ message, slots }) => (slots.length > 0 ? answered(message as AssistantMessage, slots) : [message]))
}

function answered(message: AssistantMessage, slots: readonly Slot[]): readonly Message[] {
  const rest = [...slots]
  const content = message.content.map((part) => (part.type === 'tool_call' ? withId(part, rest.shift()) : part))
  const isSame = slots.every(({ call, callId }) => call.callId === callId)
  const results = slots.map((slot) => withId(slot.result ?? interrupted(slot.call), slot))
  return [isSame ? message : { ...message, content }, { role: 'tool', content: results }]
}

function withId<Part extends ToolCallPart | ToolResultPart>(part: Part, slot: Slot | undefined): Part {
  return !slot || part.callId === slot.callId ? part : { ...part, callId: slot.callId }
}
