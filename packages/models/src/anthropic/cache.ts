import type { CacheControlEphemeral, Tool } from '@anthropic-ai/sdk/resources/messages'
import type { Conversation } from './messages.ts'

/** For how long a prompt is kept. */
export type CacheTime = '5m' | '1h'

/** The API refuses more in one request. */
const maxMarks = 4

interface Markable {
  cache_control?: CacheControlEphemeral | null
}

/** The mark for a time. One request has one: the API refuses a longer time after a shorter one. */
export function cacheMark(time: CacheTime): CacheControlEphemeral {
  return time === '5m' ? { type: 'ephemeral' } : { type: 'ephemeral', ttl: time }
}

/**
 * Keeps the last four of the marks that parts asked for. With a mark of our own, what is left of the four goes to the end of the
 * conversation, then to the end of the system text or the tools, then to the end of the turn before: the next request begins with all of it.
 */
export function setMarks(
  tools: readonly Tool[],
  { system, messages, ends }: Conversation,
  own: CacheControlEphemeral | undefined,
): void {
  const marked = [...system, ...messages.flatMap(({ content }): object[] => content)].filter(isMarked)
  for (const block of marked.slice(0, -maxMarks)) delete block.cache_control
  if (!own) return
  const places = [ends.at(-1), system.at(-1) ?? tools.at(-1), ends.at(-2)]
  const free = Math.max(maxMarks - marked.length, 0)
  for (const place of places.filter((block) => block && !isMarked(block)).slice(0, free)) if (place) place.cache_control = own
}

function isMarked(block: object): block is Markable {
  return 'cache_control' in block
}
