import { isDeepFrozen } from '../freeze.ts'
import { callsOf } from '../message.ts'
import type { AssistantMessage, Message, ToolCallPart, ToolResultPart } from '../message.ts'
import { isLegalName } from '../step/names.ts'
import { areOneHistory } from './session.ts'

/** What is known of a well-formed history. */
export interface Sound {
  readonly problem?: undefined
  messages: readonly Message[]
  readonly callIds: Set<string>
  /** Calls whose tool name not every provider accepts. */
  readonly illegal: ToolCallPart[]
  /** The providers that left in it what means something only to themselves: reasoning and opaque data. */
  opaque: Set<string | undefined> | undefined
}

/** By the first message of a history that cannot change: the next one mostly begins with the same messages. */
const known = new WeakMap<Message, Sound>()

export function nothingYet(): Sound {
  return { messages: [], callIds: new Set(), illegal: [], opaque: undefined }
}

const nothing = nothingYet()

/**
 * Looks through a history. In a well-formed one every call id is unique and not empty, and each assistant message with calls is followed directly
 * by one tool message with exactly their results, in call order. Of a frozen history only what is new since the last time is looked at.
 *
 * @param own what is known of it, where somebody keeps that: an entry in a table of its own costs every garbage collection
 * @returns what is known of it, or what is wrong with it: a sentence
 */
export function inspect(messages: readonly Message[], own?: Sound): Sound | { readonly problem: string } {
  const first = messages.length > 0 ? messages[0] : undefined
  if (!first) return nothing
  const isFixed = isDeepFrozen(messages)
  const before = isFixed ? (own ?? known.get(first)) : undefined
  if (before?.messages === messages) return before
  const sound = before ?? nothingYet()
  const start = sharedStart(sound.messages, messages)
  forget(sound, start)
  const problem = learn(sound, messages, start)
  if (problem !== undefined) return { problem }
  if (isFixed && !before) known.set(first, sound)
  return sound
}

/** What is known of the messages from here on, which are no part of the history any more. */
function forget(sound: Sound, start: number): void {
  const { messages, callIds, illegal } = sound
  if (start === messages.length) return
  for (const call of messages.slice(start).flatMap(callsOf)) {
    callIds.delete(call.callId)
    if (illegal.includes(call)) illegal.splice(illegal.indexOf(call), 1)
  }
  sound.messages = messages.slice(0, start)
}

/** @returns what is wrong with the messages from here on; then nothing more is known than before */
function learn(sound: Sound, messages: readonly Message[], start: number): string | undefined {
  const { callIds, illegal } = sound
  let open: readonly ToolCallPart[] = []
  const legal = illegal.length
  const added: string[] = []
  const refuse = (problem: string): string => {
    for (const callId of added) callIds.delete(callId)
    illegal.length = legal
    return problem
  }
  // Once more behind the end, where no call may be open.
  for (let i = start; i <= messages.length; i++) {
    // Reading behind the end of a frozen array is slow.
    const message = i < messages.length ? messages[i] : undefined
    const isAnswer = message?.role === 'tool'
    if (isAnswer ? !isAnswered(open, message.content) : open.length > 0) {
      const ids = open.map(({ callId }) => callId)
      return refuse(`messages[${i}] must hold the results of the calls before it, and of no other: ${JSON.stringify(ids)}`)
    }
    open = message ? callsOf(message) : []
    for (const call of open) {
      const { callId, toolName } = call
      if (!callId || callIds.has(callId)) return refuse(`messages[${i}] has a call id that is empty or not unique: '${callId}'`)
      callIds.add(callId)
      added.push(callId)
      if (!isLegalName(toolName)) illegal.push(call)
    }
    if (message?.role === 'assistant' && isOpaque(message)) sound.opaque = (sound.opaque ?? new Set()).add(message.provider)
  }
  sound.messages = messages
  return undefined
}

/** Does it hold what means something only to the provider that wrote it? */
export function isOpaque(message: AssistantMessage): boolean {
  if (message.providerData !== undefined) return true
  for (let i = 0; i < message.content.length; i++) {
    const part = message.content[i]
    if (part?.type === 'reasoning' || (part && 'providerData' in part)) return true
  }
  return false
}

function sharedStart(before: readonly Message[], messages: readonly Message[]): number {
  const most = Math.min(before.length, messages.length)
  let at = areOneHistory(before, messages) ? most : 0
  while (at < most && before[at] === messages[at]) at++
  // Never between calls and their results.
  return at < before.length && before[at]?.role === 'tool' ? at - 1 : at
}

function isAnswered(open: readonly ToolCallPart[], results: readonly ToolResultPart[]): boolean {
  if (open.length === 0 || open.length !== results.length) return false
  for (let i = 0; i < open.length; i++) if (open[i]?.callId !== results[i]?.callId) return false
  return true
}
