import type { ModelPart, Usage } from '@koagent/core'
import type { JsonObject } from '@koagent/core'
import type { Failure } from './failure.ts'

/** Turns the parts of one answer into the frames of a protocol. */
export interface Encoder {
  /** The frames of one part, each a whole event. */
  push(part: ModelPart): string[]
  /** The frames that end the answer. */
  end(): string[]
  /** The frame that says that it failed. */
  error(failure: Failure): string
  /** All of it, for a client that does not stream. */
  whole(): JsonObject
  /** Has the finish been pushed? */
  readonly finished: boolean
}

/** What an answer says about itself. */
export interface AnswerFacts {
  /** Unique for the server: ids begin with it or end with it. */
  readonly id: string
  /** The model that was asked for. */
  readonly model: string
  /** Said where a protocol tells it before the parts do. */
  readonly usage: Usage
  /** Shall a stream of chat completions tell the usage? */
  readonly includeUsage: boolean
}

/** A server-sent event that is named after its `type`, as with Responses and Anthropic's messages. */
export function typedFrame(payload: JsonObject & { readonly type: string }): string {
  return `event: ${payload.type}\ndata: ${JSON.stringify(payload)}\n\n`
}
