import { deny, isDecision } from '../decision.ts'
import { HookContractError, setOrigin, toError } from '../errors.ts'
import { deepFreeze } from '../freeze.ts'
import type { ContextClass } from './context.ts'
import type { Layer } from './layer.ts'
import type { Pass } from './pass.ts'
import { Trace } from './trace.ts'

/** Where a layer stands: before its `next()`, waiting for it, after it, after it has failed, or gone. */
export const Phase = { inward: 0, waiting: 1, outward: 2, failed: 3, left: 4 } as const
export type Phase = (typeof Phase)[keyof typeof Phase]

/** A hook of any point. */
export type AnyHook = (ctx: never, next: () => Promise<never>) => unknown

const ready = Promise.resolve()

type Settle = (value: unknown) => void

let resolve: Settle
let reject: Settle
/** One executor for the promises of all layers: a closure for each costs as much as the promise. */
function expose(resolver: Settle, rejecter: Settle): void {
  resolve = resolver
  reject = rejecter
}

/**
 * One layer in one pass: hands it a ctx and a guarded `next`, and makes of what it does what the rules of the point say. A frame hears that
 * what is inside has settled from the frame or the work inside, right before the promise that `next()` gave settles: so a layer that does nothing
 * costs no promise.
 */
export class Frame {
  readonly pass: Pass
  readonly layer: Layer
  phase: Phase = Phase.inward
  readonly #outer: Frame | undefined
  readonly #dispatch: () => Promise<unknown>
  /** What `next()` gave. */
  #inner: Promise<unknown> | undefined
  #outcome: unknown
  /** Does it settle as what is inside does? The layer gave on what `next()` gave it, or core has gone on inward in its place. */
  #follows = false
  /** Has the layer settled, and core goes on inward in its place? */
  #gone = false
  #violation: HookContractError | undefined
  #saved: object | undefined
  readonly #trace: Trace | undefined
  #resolve: Settle | undefined
  #reject: Settle | undefined

  constructor(pass: Pass, layer: Layer, dispatch: () => Promise<unknown>) {
    this.pass = pass
    this.layer = layer
    this.#dispatch = dispatch
    this.#outer = pass.top
    pass.top = this
    if (layer.errors !== 'raise') this.#saved = pass.save()
    if (pass.run.trace) this.#trace = new Trace(pass, layer)
  }

  get run(): Pass['run'] {
    return this.pass.run
  }

  /** Has the layer settled? What it still does then is dropped. */
  get closed(): boolean {
    return this.#gone || this.phase === Phase.left
  }

  /** Runs the layer's hook. */
  enter(hook: AnyHook, PointContext: ContextClass): unknown {
    try {
      const result = hook(new PointContext(this) as never, this.#next.bind(this) as never)
      if (!isThenable(result)) return this.#settledAtOnce(false, result)
      if (result !== this.#inner || this.#violation) return this.#wait(Promise.resolve(result))
      this.#follows = true
      return result
    } catch (error) {
      return this.#settledAtOnce(true, error)
    }
  }

  /** What the layer gets as `next`. */
  #next(): Promise<unknown> {
    return this.phase === Phase.inward && !this.#gone ? this.#goInward() : this.#refuse()
  }

  #goInward(): Promise<unknown> {
    const { pass } = this
    const { error } = pass.scope
    this.#trace?.inward()
    this.phase = Phase.waiting
    this.#inner = error && pass.point.starts ? ready.then(() => this.hear(true, error)) : this.#dispatch()
    return this.#inner
  }

  /**
   * What is inside has settled.
   *
   * @returns or throws what the promise that `next()` gave is to settle with
   */
  hear(failed: boolean, outcome: unknown): unknown {
    this.phase = failed ? Phase.failed : Phase.outward
    this.#outcome = outcome
    if (this.#saved) this.#saved = this.pass.save()
    this.#trace?.outward(outcome)
    if (failed && this.#inner) void observed(this.#inner)
    if (this.#follows) return this.#violation && !failed && !this.#gone ? this.#fail(this.#violation) : this.#repeat()
    if (failed) throw outcome
    return outcome
  }

  #refuse(): Promise<never> {
    const late = this.closed
    const error = this.contractError(
      late
        ? 'next() was called after the layer had settled: await or return it'
        : 'next() was called more than once; to try again, return retry()',
    )
    if (!late) this.#violation ??= error
    return observed(Promise.reject(error))
  }

  contractError(message: string): HookContractError {
    return new HookContractError(this.layer.name, this.pass.name, message, { runId: this.pass.run.runId })
  }

  /** Notes a rule that the layer broke through its ctx, and throws it there. */
  violate(message: string): never {
    throw (this.#violation ??= this.contractError(message))
  }

  /** What is outside hears of it later, as it does of a promise: whether a layer waits for its `next()` depends on no layer further in. */
  #settledAtOnce(failed: boolean, outcome: unknown): unknown {
    if (this.phase === Phase.waiting) return this.#take(failed, outcome)
    this.#gone = true
    return ready.then(() => this.#take(failed, outcome))
  }

  #wait(result: Promise<unknown>): Promise<unknown> {
    this.pass.watch()
    const promise = new Promise(expose)
    this.#resolve = resolve
    this.#reject = reject
    result.then(
      (value) => this.#settled(false, value),
      (error: unknown) => this.#settled(true, error),
    )
    return promise
  }

  #settled(failed: boolean, outcome: unknown): void {
    if (this.phase === Phase.left) return
    try {
      this.#resolve?.(this.#take(failed, outcome))
    } catch (error) {
      this.#reject?.(error)
    }
  }

  /** What a layer has returned or thrown. @returns what it comes to, or a promise of that; throws where it comes to a failure */
  #take(failed: boolean, outcome: unknown): unknown {
    return failed ? this.#threw(outcome) : this.#returned(outcome)
  }

  /**
   * Gives up a layer that has not settled. Where work could start, the layers around it see the run's cancel error; where an exit unwinds, they go on
   * as if it had not been there.
   */
  abandon(): void {
    const { error } = this.pass.scope
    try {
      this.#resolve?.(error && this.pass.point.starts ? this.#leave(true, error) : this.#leave(false, this.pass.outcome()))
    } catch (thrown) {
      this.#reject?.(thrown)
    }
  }

  #returned(value: unknown): unknown {
    if (this.phase === Phase.waiting)
      return this.#settledTooEarly(
        this.#violation ?? this.contractError('it settled while its next() was pending: await or return next()'),
      )
    if (this.#violation) return this.#fail(this.#violation)
    const { pass } = this
    const inward = this.phase === Phase.inward
    if (value === undefined) {
      if (!inward) return this.#repeat()
      return this.#fail(this.contractError('it returned nothing and did not call next(): return next(), or a value'))
    }
    if (this.phase === Phase.outward && value === this.#outcome) {
      if (pass.kind === 'after') pass.value = value
      return this.#repeat()
    }
    const problem = this.#accept(value, inward)
    if (problem !== undefined) return this.#fail(this.contractError(problem))
    if (pass.kind === 'around') return this.#passOn(value)
    if (!inward) return this.#leave(false, pass.outcome())
    // Only a deny ends a gate's chain; everything else is taken, and the layers further in are asked too.
    const ends = pass.kind === 'gate' && pass.decision?.kind === 'deny'
    return ends ? this.#leave(false, pass.outcome()) : this.#goOn()
  }

  /** @returns what is wrong with the value, if anything */
  #accept(value: unknown, inward: boolean): string | undefined {
    const { pass } = this
    const { kind, point } = pass
    if (point.accepts?.(value)) {
      if (kind === 'after') pass.value = value
      return undefined
    }
    if (isDecision(value)) {
      // Passed on as it came: it stays the decision of the layer that made it.
      if (!inward && value === this.#outcome) return undefined
      const problem = pass.decide(value, this.layer, inward)
      if (problem === undefined) this.#trace?.decide(value)
      return problem
    }
    const what = kind === 'observer' ? 'an observer returns nothing' : `that is nothing that ${pass.name} takes`
    return `it returned ${describe(value)}, and ${what}`
  }

  #passOn(value: unknown): unknown {
    const { pass } = this
    const { refiner } = pass
    deepFreeze(value)
    if (!refiner) return this.#leave(false, value)
    this.#close(value)
    return refiner.refine(value, pass, this.layer).then(
      (refined) => pass.tell(false, refined),
      (error: unknown) => pass.tell(true, error),
    )
  }

  #goOn(): Promise<unknown> {
    this.#gone = true
    this.#follows = true
    return this.#goInward()
  }

  /** Nothing returned after `next()`: what it gave stands, a rejection too. */
  #repeat(): unknown {
    if (this.phase === Phase.failed) return this.#leave(true, this.#outcome)
    return this.#leave(false, this.pass.kind === 'around' ? this.#outcome : this.pass.outcome())
  }

  #threw(error: unknown): unknown {
    if (this.phase === Phase.waiting) return this.#settledTooEarly(error)
    const isInner = this.phase === Phase.failed && error === this.#outcome
    // Not every thrown value is an object: undefined is no cancel.
    const isCancel = error instanceof Error && error === this.pass.scope.error
    if (isCancel && this.pass.name === 'on_event') return this.phase === Phase.inward ? this.#goOn() : this.#repeat()
    return isInner || isCancel ? this.#leave(true, error) : this.#fail(error)
  }

  /** Core waits for a pending `next()` first. If the inner work fails, its error wins. */
  #settledTooEarly(error: unknown): Promise<unknown> | undefined {
    const settle = (): unknown => {
      if (this.phase !== Phase.failed) return this.#fail(error)
      if (error !== this.#outcome) this.#report(error)
      return this.#leave(true, this.#outcome)
    }
    return this.#inner?.then(settle, settle)
  }

  /** The layer's own failure: what its policy says. */
  #fail(thrown: unknown): unknown {
    const error = this.#report(thrown)
    const { pass, layer } = this
    if (pass.point.failClosed) {
      const decision = deny(`middleware '${layer.name}' failed: ${error.message}`)
      pass.decide(decision, layer, false)
      this.#trace?.decide(decision)
      return this.#leave(false, pass.outcome())
    }
    if (layer.errors === 'raise') {
      if (pass.name !== 'on_event') return this.#leave(true, error)
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

  #leave(failed: boolean, outcome: unknown): unknown {
    this.#close(failed ? undefined : outcome)
    return this.pass.tell(failed, outcome)
  }

  #close(value: unknown): void {
    this.#trace?.leave(value, this.phase === Phase.inward)
    this.phase = Phase.left
    this.pass.top = this.#outer
  }
}

/** The same promise, which nobody has to listen to: a layer that asks and goes on is no unhandled rejection. */
export function observed<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
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
