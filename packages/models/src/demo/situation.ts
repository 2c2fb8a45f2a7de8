import { callsOf, textOf } from '@koagent/core'
import type { Message, ToolCallPart } from '@koagent/core'
import type { Outcome } from './plan/earlier.ts'
import type { History } from './plan/plan.ts'
import { wordsOf } from './words/words.ts'

/** What follows in a message is not read: rules that compare every word with every tool take their time. */
const maxChars = 4000

/** Something that the person said in this run, and what was called since and before. */
export interface Asked extends History {
  readonly words: string
}

/** Where a conversation stands. */
export interface Situation {
  /** What the person said in this run, the newest first. */
  readonly asked: readonly Asked[]
  /** All calls of the run, with their results. */
  readonly outcomes: readonly Outcome[]
  /** The ids that are taken. */
  readonly callIds: ReadonlySet<string>
}

/** Reads a conversation: the run is what follows the last answer, and 'try again' goes on with the run before. */
export function situationOf(messages: readonly Message[]): Situation {
  const said = messages.flatMap((message, at) =>
    message.role === 'user' && textOf(message).trim() ? [{ at, words: textOf(message).slice(0, maxChars) }] : [],
  )
  const opening = openingOf(messages, messages.length)
  const isRetry = said.some(({ at }) => at >= opening) && said.every(({ at, words }) => at < opening || isGoOn(words))
  const begin = isRetry ? openingOf(messages, opening) : opening

  const calls = new Map(
    messages
      .flatMap((message) => (message.role === 'assistant' ? callsOf(message) : []))
      .map((call) => [call.callId, call] as const),
  )
  // What failed before 'try again' is to be done anew, and only that.
  const done = resultsOf(messages, calls).filter(({ at, result }) => at > begin && (at > opening || !result.isError))
  const asked = said.filter(({ at, words }) => at >= begin && !(isRetry && isGoOn(words)))
  return {
    asked: asked.toReversed().map(({ at, words }) => ({
      words,
      outcomes: done.filter((one) => one.at > at),
      earlier: done.filter((one) => one.at < at),
    })),
    outcomes: done,
    callIds: new Set(calls.keys()),
  }
}

/** The user message before `end` that opened a run: one that follows an answer rather than a tool's result. */
function openingOf(messages: readonly Message[], end: number): number {
  return messages
    .slice(0, end)
    .findLastIndex(({ role }, at) => role === 'user' && !/user|tool/.test(messages[at - 1]?.role ?? ''))
}

function resultsOf(
  messages: readonly Message[],
  calls: ReadonlyMap<string, ToolCallPart>,
): (Outcome & { readonly at: number })[] {
  return messages.flatMap((message, at) => {
    if (message.role !== 'tool') return []
    return message.content.map((result) => ({
      at,
      toolName: result.toolName,
      args: calls.get(result.callId)?.args ?? {},
      result,
    }))
  })
}

const goOnWords = new Set(
  'try again retry once more please now go on ahead continue proceed carry yes ok okay do it that is approved approve i have and you may can'.split(
    ' ',
  ),
)

function isGoOn(text: string): boolean {
  return wordsOf(text).every((word) => goOnWords.has(word))
}
