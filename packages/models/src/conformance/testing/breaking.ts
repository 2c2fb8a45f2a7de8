import { ModelError } from '@koagent/core'
import type { Message, Model, ModelPart, ModelRequest } from '@koagent/core'
import type { ConformanceSubject } from '../conformance.ts'

/** How a model streams. */
export type Stream = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelPart>

/** Breaks a sound stream. Called anew for each model. */
export type Break = (sound: Stream) => Stream

/** Rewrites the parts of each answer; `state` is made for each. */
export function parts<State>(make: () => State, rewrite: (part: ModelPart, state: State) => readonly ModelPart[]): Break {
  return (sound) =>
    async function* stream(request, signal) {
      const state = make()
      for await (const part of sound(request, signal)) yield* rewrite(part, state)
    }
}

/** Rewrites each part by itself. */
export function each(rewrite: (part: ModelPart) => readonly ModelPart[]): Break {
  return parts(() => {}, rewrite)
}

/** Answers a thrown error with another, or with parts. */
export function caught(handle: (error: unknown, signal: AbortSignal) => readonly ModelPart[]): Break {
  return (sound) =>
    async function* stream(request, signal) {
      try {
        yield* sound(request, signal)
      } catch (error) {
        yield* handle(error, signal)
      }
    }
}

/** Sends another request. */
export function asked(rewrite: (request: ModelRequest) => ModelRequest): Break {
  return (sound) => (request, signal) => sound(rewrite(request), signal)
}

type AnyPart = Message['content'][number]

/** Sends other content, or less of it. */
export function sending(rewrite: (part: AnyPart) => AnyPart | undefined): Break {
  const rewritten = (message: Message) =>
    ({ ...message, content: message.content.flatMap((part) => rewrite(part) ?? []) }) as Message
  return asked((request) => ({ ...request, messages: request.messages.map(rewritten) }))
}

/** Throws another error for a ModelError. */
export function refused(rewrite: (error: ModelError) => Error): Break {
  return caught((error) => {
    throw error instanceof ModelError ? rewrite(error) : error
  })
}

export const stop: ModelPart = { type: 'finish', reason: 'stop' }
export const is = <Type extends ModelPart['type']>(part: ModelPart, type: Type): part is Extract<ModelPart, { type: Type }> =>
  part.type === type

type Moment = 'at the start' | 'before the first part' | 'while it waits' | 'between two parts'

/** Ends well where it is aborted at that moment. */
export function deafIn(deaf: Moment): Break {
  return (sound) =>
    async function* stream(request, signal) {
      let moment: Moment = signal.aborted ? 'at the start' : 'before the first part'
      try {
        for await (const part of sound(request, signal)) {
          yield part
          moment = signal.aborted ? 'between two parts' : 'while it waits'
        }
      } catch (error) {
        if (!signal.aborted || moment !== deaf) throw error
      }
    }
}

/** Holds what is chosen back until the finish, and puts there what `at` makes of it. */
export function held(
  choose: (part: ModelPart) => boolean,
  at: (finish: ModelPart, chosen: readonly ModelPart[]) => readonly ModelPart[],
): Break {
  return parts(
    () => [] as ModelPart[],
    (part, chosen) => {
      if (is(part, 'finish')) return at(part, chosen)
      if (!choose(part)) return [part]
      chosen.push(part)
      return []
    },
  )
}

/** The subject with its model broken. */
export function brokenModel(stream: Break, subject: ConformanceSubject): ConformanceSubject {
  const { model } = subject
  const broken = stream((request, signal) => model.stream(request, { signal }))
  const outer: Model = {
    provider: model.provider,
    id: model.id,
    stream: (request, { signal }) => broken(request, signal),
  }
  return { ...subject, model: outer }
}
