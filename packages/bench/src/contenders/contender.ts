import type { RunProof } from './task.ts'

/** One stream: how many text deltas the consumer got. */
export type Stream = () => Promise<number>

/** A framework, or a loop written by hand, as the bench drives it. */
export interface Contender {
  /**
   * Three tool turns and an answer, with so many no-op middlewares at every hook point, or at what comes nearest. What a user makes once is made here;
   * each call is one run. A contender whose hooks are too few has no other count than 0.
   */
  run(middlewares: number): (() => Promise<RunProof>) | undefined
  /** Text deltas to a `for await` consumer, by variant. */
  streams(deltas: number): Readonly<Record<string, () => Stream>>
}

/** One piece of the streamed answer. */
export const delta = 'word '

export const noMiddleware = '0 middlewares'
export const fiveMiddlewares = '5 middlewares'
/** koagent's alone: layers that rewrite the stream into itself. */
export const transforms = (count: number): string => `${count} transform${count === 1 ? '' : 's'}`
/** koagent's alone. */
export const otherEvents = '5 layers for other events'
/** pi's alone: not pushed at once, but read from an asynchronous generator, as koagent's model is. */
export const sameSource = '0 middlewares, same source'

/** So many of something. */
export function times<T>(count: number, make: (index: number) => T): T[] {
  return Array.from({ length: count }, (_, i) => make(i))
}
