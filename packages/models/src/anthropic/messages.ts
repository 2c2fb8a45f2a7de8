import type { AssistantMessage, Message, TextPart } from '@koagent/core'
import type {
  CacheControlEphemeral,
  ContentBlockParam,
  TextBlockParam,
  ToolResultBlockParam,
} from '@anthropic-ai/sdk/resources/messages'
import { isObject, textIn } from '../values.ts'
import { contentBlocks, resultBlock, textBlocks, toolUseId } from './content.ts'
import type { ContentBlock } from './content.ts'

/** Whom a conversation is sent to. */
export interface Recipient {
  readonly provider: string
  /** For what is marked with `cache: true`. */
  readonly mark: CacheControlEphemeral
}

export type UserBlock = ContentBlock | ToolResultBlockParam

export type Turn =
  | { readonly role: 'user'; content: UserBlock[] }
  | { readonly role: 'assistant'; readonly content: ContentBlockParam[] }

export interface Conversation {
  readonly system: TextBlockParam[]
  readonly messages: Turn[]
  /** The last block of each turn of the user's that the next request will have, too: notes that a layer added to this one come after it. */
  readonly ends: readonly UserBlock[]
}

/**
 * The conversation in the form of the messages API: system text at its beginning apart, later system text as the user's, what stands between
 * two answers as one turn of the user with its results first. An answer of which nothing can be sent is left out.
 */
export function conversation(system: string | undefined, messages: readonly Message[], to: Recipient): Conversation {
  const opening: TextPart[] = system === undefined ? [] : [{ type: 'text', text: system }]
  const turns: Turn[] = []
  const ends = new Map<Turn, UserBlock>()
  for (const message of messages) {
    const last = turns.at(-1)
    if (message.role === 'system' && !last) opening.push(...message.content)
    else if (message.role === 'assistant') {
      const content = assistantBlocks(message, to)
      if (content.length > 0) turns.push({ role: 'assistant', content })
    } else {
      const content =
        message.role === 'tool'
          ? message.content.map((part) => resultBlock(part, to.mark))
          : contentBlocks(message.content, to.mark)
      const turn: Turn = last?.role === 'user' ? last : { role: 'user', content: [] }
      if (turn !== last) turns.push(turn)
      turn.content.push(...content)
      const end = content.at(-1)
      if (end && !isNote(message)) ends.set(turn, end)
    }
  }
  for (const turn of turns) if (turn.role === 'user') turn.content = inOrder(turn.content)
  return { system: textBlocks(opening, to.mark), messages: turns, ends: [...ends.values()] }
}

function isNote({ content }: Message): boolean {
  return content.every((part) => part.type === 'text' && part.added)
}

/** Results stand first, and a turn must not be empty: without it the answer before it would be taken as one to be gone on with. */
function inOrder(content: readonly UserBlock[]): UserBlock[] {
  if (content.length === 0) return [{ type: 'text', text: '(no content)' }]
  const results = content.filter(({ type }) => type === 'tool_result')
  return [...results, ...content.filter(({ type }) => type !== 'tool_result')]
}

function assistantBlocks({ provider, content }: AssistantMessage, to: Recipient): ContentBlockParam[] {
  const own = provider === to.provider
  return content.flatMap((part): ContentBlockParam[] => {
    const data = own && isObject(part.providerData) ? part.providerData : {}
    if (part.type === 'text') return textBlocks([part], to.mark).map((block) => ({ ...block, ...data }))
    if (part.type === 'reasoning') return reasoningBlocks(part.text, data)
    return [{ ...data, type: 'tool_use', id: toolUseId(part.callId), name: part.toolName, input: part.args }]
  })
}

/** Thinking that is signed, or another block of the provider's own. Thinking without a signature is refused. */
function reasoningBlocks(thinking: string, data: Record<string, unknown>): ContentBlockParam[] {
  if (isBlock(data)) return [{ ...data }]
  const signature = textIn(data['signature'])
  return signature ? [{ ...data, type: 'thinking', thinking, signature }] : []
}

/** Only a block that was received as a whole is kept with its type. */
function isBlock(data: Record<string, unknown>): data is Record<string, unknown> & ContentBlockParam {
  return typeof data['type'] === 'string'
}
