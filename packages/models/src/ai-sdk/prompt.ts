import type { AssistantMessage, AssistantPart, ContentPart, Json, Message } from '@koagent/core'
import { isObject } from '../values.ts'
import { isExecuted } from './executed.ts'
import { filePart, resultOutput } from './files.ts'
import type { Version } from './model.ts'

/** Whom a prompt is for. */
export interface Recipient {
  readonly provider: string
  readonly version: Version
}

/**
 * The conversation as a prompt of the AI SDK. What precedes the first other message is one system message; later system text goes in its place as the
 * user's, since most providers refuse it there.
 */
export function promptOf(system: string | undefined, messages: readonly Message[], to: Recipient): object[] {
  const firstOther = messages.findIndex(({ role }) => role !== 'system')
  const leading = firstOther === -1 ? messages : messages.slice(0, firstOther)
  const texts = leading.flatMap(({ content }) => content.filter((part) => part.type === 'text'))
  const opening = [system, ...texts.map(({ text }) => text)].filter(Boolean).join('\n\n')
  const rest = messages.slice(leading.length).map((message) => messageFor(message, to))
  const first = opening ? [{ role: 'system', content: opening, ...cacheMark({ cache: texts.some(({ cache }) => cache) }) }] : []
  return [...first, ...rest.filter(({ content }) => content.length > 0)]
}

function messageFor(message: Message, to: Recipient): { readonly role: string; readonly content: readonly object[] } {
  switch (message.role) {
    case 'assistant':
      return { role: 'assistant', content: assistantContent(message, to) }
    case 'tool': {
      const content = message.content.map((result) => ({
        type: 'tool-result',
        toolCallId: result.callId,
        toolName: result.toolName,
        output: resultOutput(result, to.version),
        ...cacheMark({ cache: result.content.some(({ cache }) => cache) }),
      }))
      return { role: 'tool', content }
    }
    default: {
      const content: readonly ContentPart[] = message.content
      return { role: 'user', content: content.map((part) => ({ ...userPart(part, to), ...cacheMark(part) })) }
    }
  }
}

function userPart(part: ContentPart, { version }: Recipient): object {
  return part.type === 'text' ? { type: 'text', text: part.text } : filePart(part, version)
}

/** Anthropic's mark. Options are looked at by the provider that they are named after only. */
function cacheMark({ cache }: { readonly cache?: boolean | undefined }): object {
  return cache ? { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } } : {}
}

/** The parts in their order. Reasoning and metadata of another provider mean nothing to this one. */
function assistantContent({ provider, content }: AssistantMessage, to: Recipient): object[] {
  const own = provider === to.provider
  return content.filter(({ type }) => own || type !== 'reasoning').map((part) => assistantPart(part, own))
}

function assistantPart(part: AssistantPart, own: boolean): object {
  const { providerData } = part
  const options = own ? optionsOf(providerData) : {}
  switch (part.type) {
    case 'tool_call':
      return { type: 'tool-call', toolCallId: part.callId, toolName: part.toolName, input: part.args, ...options }
    case 'reasoning':
      return isExecuted(providerData) ? providerData : { type: 'reasoning', text: part.text, ...options }
    default:
      return { type: 'text', text: part.text, ...cacheMark(part), ...options }
  }
}

function optionsOf(providerData: Json | undefined): object {
  return isObject(providerData) ? { providerOptions: providerData } : {}
}
