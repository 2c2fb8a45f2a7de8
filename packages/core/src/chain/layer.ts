import type { Middleware } from '../middleware/middleware.ts'
import type { Predicate } from '../middleware/wrap.ts'
import type { Cancellation } from '../signal.ts'

/** A condition of `when`. Its identity keys the answer that is kept. */
export interface Condition {
  readonly predicate: Predicate
}

/** A middleware in its place in the onion: 0 is the outermost. */
export interface Layer {
  readonly index: number
  readonly name: string
  readonly middleware: Middleware<never>
  readonly errors: 'raise' | 'log' | 'ignore'
  /** Every one must hold. */
  readonly conditions: readonly Condition[]
  /** Every one must accept the tool. */
  readonly filters: readonly ((toolName: string) => boolean)[]
}

/** What a pass belongs to: the run, one turn, one LLM step, one tool call. It names operations by position and keeps the answers of `when`. */
export class Unit {
  /** The operation's name, such as `tool:0:1`. */
  readonly op: string
  turn: number
  readonly callId: string | undefined
  readonly toolName: string | undefined
  /** What its work stands under, where that is not the run's cancellation alone: an LLM step may be interrupted. */
  scope: Cancellation | undefined
  /** Of an LLM step: a person wants to be heard before it goes on. */
  isInterrupted = false
  /** Events of this unit so far. */
  count = 0
  #answers: Map<Condition, boolean> | undefined

  constructor(op: string, turn: number, callId?: string, toolName?: string) {
    this.op = op
    this.turn = turn
    this.callId = callId
    this.toolName = toolName
  }

  /** Asks a condition once and keeps its answer. One that throws counts as true. */
  holds(condition: Condition, view: () => Parameters<Predicate>[0]): boolean {
    const answers = (this.#answers ??= new Map())
    let answer = answers.get(condition)
    if (answer === undefined) {
      try {
        answer = Boolean(condition.predicate(view()))
      } catch {
        answer = true
      }
      answers.set(condition, answer)
    }
    return answer
  }
}
