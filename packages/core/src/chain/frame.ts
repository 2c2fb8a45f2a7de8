import { deny, isDecision } from '../decision.ts'
import type { Decision } from '../decision.ts'
import { HookContractError, setOrigin, toError } from '../errors.ts'
import { deepFreeze } from '../freeze.ts'
import { contextFor } from './context.ts'
import type { Layer } from './layer.ts'
import type { Pass } from './pass.ts'
import { Trace } from './trace.ts'

/** Where a layer stands: before its `next()`, waiting for it, after it, or gone. */
export const Phase = { inward: 0, waiting: 1, outward: 2, left: 3 } as const
export type Phase = (typeof Phase)[keyof typeof Phase]

/** One layer in one pass: hands it a ctx and a guarded `next`, and makes of what it does what the rules of the point say. */
export class Frame {
  readonly pass: Pass
  readonly layer: Layer
  readonly ctx: object
  phase: Phase = Phase.inward
  readonly #outer: Frame | undefined
  readonly #dispatch: () => Promise<unknown>
  /** Settles when `next()` has, and never rejects. */
  #inner: Promise<void> | undefined
  #failed = false
  /** Has the layer settled, and core gone on inward in its place? */
  #gone = false
  #outcome: unknown
  #violation: HookContractError | undefined
  #saved: object | undefined
  #resolve: ((value: unknown) => void) | undefined
  #reject: ((error: Error) => void) | undefined
  readonly #trace: Trace | undefined
  #decided: Decision | undefined

  constructor(pass: Pass, layer: Layer, dispatch: () => Promise<unknown>) {
    this.pass = pass
    this.layer = layer
    this.#dispatch = dispatch
    this.#outer = pass.top
    pass.top = this
    if (layer.errors !== 'raise') this.#saved = pass.save()
    if (pass.run.trace) this.#trace = new Trace(pass, layer)
    this.ctx = contextFor(this)
  }

  /** Has the layer settled? What it still does then is dropped. */
  get closed(): boolean {
    return this.#gone || this.phase === Phase.left
  }

  /** What the layer gets as `next`. */
  readonly next = (): Promise<unknown> => {
    if (this.phase !== Phase.inward) return this.#refuse()
    const { pass } = this
    const { error } = pass.run.cancellation
    this.#trace?.inward()
    this.phase = Phase.waiting
    const inner = error && pass.point.starts ? Promise.reject(error) : this.#dispatch()
    this.#inner = inner.then(
      (value) => this.#back(false, value),
      (reason: unknown) => this.#back(true, reason),
    )
    return inner
  }

  #back(failed: boolean, outcome: unknown): void {
    if (this.phase === Phase.left) return
    this.phase = Phase.outward
    this.#failed = failed
    this.#outcome = outcome
    if (this.#saved) this.#saved = this.pass.save()
    this.#trace?.outward(outcome)
  }

  #refuse(): Promise<never> {
    const late = this.closed
    const error = this.contractError(
      late
        ? 'next() was called after the layer had settled: await or return it'
        : 'next() was called more than once; to try again, return retry()',
    )
    if (!late) this.#violation ??= error
    const refused = Promise.reject(error)
    refused.catch(() => {})
    return refused
  }

  contractError(message: string): HookContractError {
    return new HookContractError(this.layer.name, this.pass.name, message, { runId: this.pass.run.runId })
  }

  /** Notes a rule that the layer broke through its ctx, and throws it there. */
  violate(message: string): never {
    throw (this.#violation ??= this.contractError(message))
  }

  /** Runs the layer's hook. */
  enter(hook: (ctx: never, next: () => Promise<never>) => unknown): unknown {
    let result: unknown
    try {
      result = hook(this.ctx as never, this.next as never)
    } catch (error) {
      return this.#threw(error)
    }
    return isThenable(result) ? this.#follow(result) : this.#returned(result)
  }

  #follow(result: PromiseLike<unknown>): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
      const settle = (outcome: () => unknown): void => {
        if (this.phase === Phase.left) return
        try {
          resolve(outcome())
        } catch (error) {
          reject(error)
        }
      }
      result.then(
        (value) => settle(() => this.#returned(value)),
        (error: unknown) => settle(() => this.#threw(error)),
      )
    })
  }

  /**
   * Gives up a layer that has not settled. Where work could start, the layers around it see the run's cancel error; where an exit unwinds, they go on
   * as if it had not been there.
   */
  abandon(): void {
    const { error } = this.pass.run.cancellation
    this.#leave()
    if (error && this.pass.point.starts) this.#reject?.(error)
    else this.#resolve?.(this.pass.outcome())
  }

  #returned(value: unknown): unknown {
    if (this.phase === Phase.waiting)
      return this.#settledTooEarly(
        this.#violation ?? this.contractError('it settled while its next() was pending: await or return next()'),
      )
    if (this.#violation) return this.#fail(this.#violation)
    if (value === undefined) {
      if (this.phase === Phase.outward) return this.#repeat()
      return this.#fail(this.contractError('it returned nothing and did not call next(): return next(), or a value'))
    }
    const { pass } = this
    const inward = this.phase === Phase.inward
    const problem = this.#take(value, inward)
    if (problem !== undefined) return this.#fail(this.contractError(problem))
    if (pass.point.kind === 'around') return this.#passOn(value)
    if (!inward) return this.#leave(pass.outcome())
    // Only a deny ends a gate's chain; everything else is taken, and the layers further in are asked too.
    return pass.point.kind === 'gate' && pass.decision?.kind === 'deny' ? this.#leave(pass.outcome()) : this.#goOn()
  }

  /** @returns what is wrong with the value, if anything */
  #take(value: unknown, inward: boolean): string | undefined {
    const { pass } = this
    const { accepts, kind } = pass.point
    if (accepts?.(value)) {
      if (kind === 'after') pass.value = value
      return undefined
    }
    if (isDecision(value)) {
      // Passed on as it came: it stays the decision of the layer that made it.
      if (!inward && value === this.#outcome) return undefined
      const problem = pass.decide(value, this.layer, inward)
      if (problem === undefined) this.#decided = value
      return problem
    }
    const what = kind === 'observer' ? 'an observer returns nothing' : `that is nothing that ${pass.name} takes`
    return `it returned ${describe(value)}, and ${what}`
  }

  #passOn(value: unknown): unknown {
    const { refine } = this.pass
    this.#leave(deepFreeze(value))
    return refine && (this.#failed || value !== this.#outcome) ? refine(value, this.layer) : value
  }

  #goOn(): Promise<unknown> {
    const inner = this.next()
    this.#gone = true
    return inner.then(
      () => this.#repeat(),
      (error: unknown) => this.#throw(error),
    )
  }

  /** Nothing returned after `next()`: what it gave stands, a rejection too. */
  #repeat(): unknown {
    if (this.#failed) return this.#throw(this.#outcome)
    return this.#leave(this.pass.point.kind === 'around' ? this.#outcome : this.pass.outcome())
  }

  #threw(error: unknown): unknown {
    if (this.phase === Phase.waiting) return this.#settledTooEarly(error)
    const isInner = this.phase === Phase.outward && this.#failed && error === this.#outcome
    // Not every thrown value is an object: undefined is no cancel.
    const isCancel = error instanceof Error && error === this.pass.run.cancellation.error
    if (isCancel && this.pass.name === 'on_event') return this.phase === Phase.inward ? this.#goOn() : this.#repeat()
    return isInner || isCancel ? this.#throw(error) : this.#fail(error)
  }

  /** Core waits for a pending `next()` first. If the inner work fails, its error wins. */
  #settledTooEarly(error: unknown): Promise<unknown> | undefined {
    return this.#inner?.then(() => {
      if (this.phase === Phase.left) return undefined
      if (!this.#failed) return this.#fail(error)
      if (error !== this.#outcome) this.#report(error)
      return this.#throw(this.#outcome)
    })
  }

  /** The layer's own failure: what its policy says. */
  #fail(thrown: unknown): unknown {
    const error = this.#report(thrown)
    const { pass, layer } = this
    if (pass.point.failClosed) {
      this.#decided = deny(`middleware '${layer.name}' failed: ${error.message}`)
      pass.decide(this.#decided, layer, false)
      return this.#leave(pass.outcome())
    }
    if (layer.errors === 'raise') {
      if (pass.name !== 'on_event') return this.#throw(error)
      // The run fails at its loop, and the layers further in see the event all the same: one of them may be there to redact it.
      pass.run.failAtLoop(error)
    }
    if (this.#saved) pass.restore(this.#saved)
    return this.phase === Phase.inward ? this.#goOn() : this.#repeat()
  }

  #report(thrown: unknown): Error {
    const { pass, layer } = this
    const error = toError(thrown, `middleware '${layer.name}' at ${pass.name}`)
    const { callId, toolName } = pass.unit
    setOrigin(error, {
      middleware: layer.name,
      point: pass.name,
      ...(callId === undefined ? {} : { callId, toolName: toolName ?? '' }),
    })
    pass.run.hookFailed(error, layer, pass)
    return error
  }

  #leave<T>(value?: T): T | undefined {
    if (this.phase === Phase.left) return value
    this.#trace?.leave(value, this.#decided, this.phase === Phase.inward)
    this.phase = Phase.left
    this.pass.top = this.#outer
    return value
  }

  #throw(error: unknown): never {
    this.#leave()
    throw error
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

function describe(value: unknown): string {
  if (value === null) return 'null'
  if (isDecision(value)) return value.kind
  return typeof value === 'object'
    ? `an object with ${Object.keys(value).join(', ') || 'no fields'}`
    : `the ${typeof value} ${String(value)}`
}
