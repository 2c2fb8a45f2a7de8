import type { JsonObject } from '@koagent/core'
import type { FakeRequest } from './answer.ts'
import { chatEncoder } from './chat.ts'
import type { AnswerFacts, Encoder } from './encoder.ts'
import { anthropicError, openaiError } from './failure.ts'
import type { Failure } from './failure.ts'
import { messagesEncoder } from './messages.ts'
import { responsesEncoder } from './responses.ts'

export interface Protocol {
  readonly name: FakeRequest['protocol']
  /** What the path of a request ends with. */
  readonly path: string
  /** The header that tells the id of a request. */
  readonly idHeader: string
  readonly encoder: (facts: AnswerFacts) => Encoder
  readonly error: (failure: Failure) => JsonObject
}

export const protocols: readonly Protocol[] = [
  { name: 'chat', path: '/chat/completions', idHeader: 'x-request-id', encoder: chatEncoder, error: openaiError },
  { name: 'responses', path: '/responses', idHeader: 'x-request-id', encoder: responsesEncoder, error: openaiError },
  { name: 'messages', path: '/messages', idHeader: 'request-id', encoder: messagesEncoder, error: anthropicError },
]

/** The protocol that a path, with or without a query, belongs to. */
export function protocolOf(path: string): Protocol | undefined {
  const { pathname } = new URL(path, 'http://localhost')
  return protocols.find((protocol) => pathname.endsWith(protocol.path))
}
