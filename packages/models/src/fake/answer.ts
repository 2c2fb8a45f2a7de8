import type { Json, JsonObject } from '@koagent/core'
import type { ScriptedStep } from '@koagent/core/scripted'

/** How an answer ends early: in good order but unfinished ('cut'), with its connection lost ('reset'), or never ('hang'). */
export type FakeEnd = 'cut' | 'reset' | 'hang'

/** A step as for `scripted`. Its `error` is an HTTP error where nothing was sent before it, else an error frame. */
export interface FakeStep extends ScriptedStep {
  /** Comes in place of the frames that end an answer. Default: the answer ends as it should, if its `parts` have a finish. */
  readonly end?: FakeEnd
}

/** An answer that is a refusal. */
export interface FakeRefusal {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Text is sent as it is, anything else as JSON. Default: an error as the protocol has it. */
  readonly body?: Json
}

/** A body with HTTP 200 whose pieces arrive as they are given, each on its own. */
export interface FakeFrames {
  readonly frames: readonly (string | Uint8Array)[]
  /** Default: it ends after the last piece. */
  readonly end?: Exclude<FakeEnd, 'cut'>
}

export type FakeAnswer = FakeStep | FakeRefusal | FakeFrames

/** An answer, or a function that makes it from the request. */
export type FakeScript = FakeAnswer | ((request: FakeRequest) => FakeAnswer | Promise<FakeAnswer>)

/** A request as it came in. */
export interface FakeRequest {
  /** With its query. */
  readonly path: string
  readonly protocol: 'chat' | 'responses' | 'messages'
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly body: JsonObject
  /** How its answer ended: all of it was 'sent', the client had 'left' before, or the provider was 'closed'. It never rejects. */
  readonly ended: Promise<'sent' | 'left' | 'closed'>
}
