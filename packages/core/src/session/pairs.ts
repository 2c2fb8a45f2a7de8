import { isDeepFrozen } from '../freeze.ts'
import { callsOf } from '../message.ts'
import type { Message, ToolCallPart, ToolResultPart } from '../message.ts'
import { isLegalName } from '../step/names.ts'

/** What is known of a history. */
export interface History {
  /** What is wrong with its calls and results: a sentence. */
  readonly problem?: string
  /** The first call whose tool name not every provider accepts. */
  readonly illegal?: ToolCallPart
}

/** A well-formed history that cannot change. The next one mostly begins with the same messages. */
export interface Sound {
  messages: readonly Message[]
  readonly callIds: Set<string>
  /** Calls whose tool name not every provider accepts, once there are any. */
  illegal: Set<ToolCallPart> | undefined
}

/** By its first message: a session's next run goes on from there. */
const known = new WeakMap<Message, Sound>()

export function nothingYet(): Sound {
  return { messages: [], callIds: new Set(), illegal: undefined }
}

/**
 * Looks through a history. In a well-formed one every call id is unique and not empty, and each assistant message with calls is followed directly
 * by one tool message with exactly their results, in call order. Of a frozen history only what is new since the last time is looked at.
 *
 * @param own what is known of it, where somebody keeps that: an entry in a table of its own costs every garbage collection
 */
export function inspect(messages: readonly Message[], own?: Sound): History {
  const first = messages[0]
  if (!first) return sane
  const isFixed = isDeepFrozen(messages)
  const before = isFixed ? (own ?? known.get(first)) : undefined
  const sound = before ?? nothingYet()
  const problem = sound.messages === messages ? undefined : goOn(sound, messages)
  if (problem) {
    forget(sound)
    return { problem }
  }
  if (isFixed && !before) known.set(first, sound)
  const [call] = sound.illegal ?? []
  return call ? { illegal: call } : sane
}

const sane: History = {}

/** What was found is half of something ill-formed. */
function forget(sound: Sound): void {
  sound.messages = []
  sound.callIds.clear()
  sound.illegal = undefined
}

/** Takes what is known of one history to another, which mostly is the same and longer. @returns what is wrong with it */
function goOn(sound: Sound, messages: readonly Message[]): string | undefined {
  const { messages: before, callIds } = sound
  const start = sharedStart(before, messages)
  for (let i = start; i < before.length; i++) {
    for (const call of callsOf(before[i] as Message)) {
      callIds.delete(call.callId)
      sound.illegal?.delete(call)
    }
  }
  let open: readonly ToolCallPart[] = []
  // Once more behind the end, where no call may be open.
  for (let i = start; i <= messages.length; i++) {
    // Reading behind the end of a frozen array is slow.
    const message = i < messages.length ? messages[i] : undefined
    const isAnswer = message?.role === 'tool'
    if (isAnswer ? !isAnswered(open, message.content) : open.length > 0) {
      const ids = open.map(({ callId }) => callId)
      return `messages[${i}] must hold the results of the calls before it, and of no other: ${JSON.stringify(ids)}`
    }
    open = message ? callsOf(message) : []
    for (const call of open) {
      const { callId, toolName } = call
      if (!callId || callIds.has(callId))
        return `messages[${i}] has a call id that is empty or not unique: '${callId}'`
      callIds.add(callId)
      if (!isLegalName(toolName)) sound.illegal = (sound.illegal ?? new Set<ToolCallPart>()).add(call)
    }
  }
  sound.messages = messages
  return undefined
}

function sharedStart(before: readonly Message[], messages: readonly Message[]): number {
  const most = Math.min(before.length, messages.length)
  let at = 0
  while (at < most && before[at] === messages[at]) at++
  // Never between calls and their results.
  return at < before.length && before[at]?.role === 'tool' ? at - 1 : at
}

function isAnswered(open: readonly ToolCallPart[], results: readonly ToolResultPart[]): boolean {
  if (open.length === 0 || open.length !== results.length) return false
  for (let i = 0; i < open.length; i++) if (open[i]?.callId !== results[i]?.callId) return false
  return true
}
