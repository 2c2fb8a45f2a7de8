import { RunCancelledError } from './errors.ts'

/** A signal of one's own that follows a parent. */
export interface DerivedSignal {
  readonly signal: AbortSignal
  /** Aborts this signal alone. */
  abort(reason?: unknown): void
  /** Removes the timer and the listener on the parent. Call it when the work is over, however it ended. */
  dispose(): void
}

/**
 * A signal that aborts with its parent, by a time limit, or by itself, and leaves nothing behind once disposed.
 * (`AbortSignal.any` keeps dependants of a long-lived parent: nodejs/node#54614.)
 *
 * @param timeoutMs aborts with a `TimeoutError` after so many milliseconds; no limit when absent
 */
export function deriveSignal(
  parent: AbortSignal | undefined,
  { timeoutMs }: { readonly timeoutMs?: number | undefined } = {},
): DerivedSignal {
  const error = (): Error => new DOMException(`timed out after ${timeoutMs} ms`, 'TimeoutError')
  return derive(parent, timeoutMs === undefined ? undefined : { ms: timeoutMs, error })
}

function derive(parent: AbortSignal | undefined, limit: TimeLimit | undefined): DerivedSignal {
  const controller = new AbortController()
  const timer = limit && setTimeout(() => abort(limit.error()), limit.ms)
  const follow = (): void => abort(parent?.reason)
  function dispose(): void {
    clearTimeout(timer)
    parent?.removeEventListener('abort', follow)
  }
  function abort(reason?: unknown): void {
    dispose()
    controller.abort(reason)
  }
  if (parent?.aborted) follow()
  else parent?.addEventListener('abort', follow)
  return { signal: controller.signal, abort, dispose }
}

/** Rejects with the signal's reason as soon as it aborts; whatever the promise does later is ignored. Leaves no listener. */
export function waitUnder<T>(signal: AbortSignal, promise: PromiseLike<T>, stop?: () => void): Promise<T> {
  const listen = (reject: (error: Error) => void): (() => void) => {
    const onAbort = (): void => reject(signal.reason as Error)
    if (signal.aborted) onAbort()
    else signal.addEventListener('abort', onAbort, { once: true })
    return () => signal.removeEventListener('abort', onAbort)
  }
  return unless(promise, listen, stop)
}

/** The promise, unless the listener is called first, which stops the work. It is taken back in either case. */
function unless<T>(
  promise: PromiseLike<T>,
  listen: (reject: (error: Error) => void) => () => void,
  stop: (() => void) | undefined,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const end = (error: Error): void => {
      stop?.()
      reject(error)
    }
    const forget = listen(stop ? end : reject)
    promise.then(
      (value) => (forget(), resolve(value)),
      (error: unknown) => (forget(), reject(error as Error)),
    )
  })
}

/**
 * The one place where a run is stopped from going on. Core's own waits stand in one set, so that a wait costs no listener, and the AbortSignal is
 * made when somebody first asks for it.
 */
export class Cancellation {
  /** What everything that waits rejects with, once it must end. */
  error: Error | undefined
  #cancelled = false
  readonly #waiting = new Set<(error: Error) => void>()
  #controller: AbortController | undefined
  #inner: Cancellation | undefined

  /** Was the run cancelled? An interruption is no cancel. */
  get cancelled(): boolean {
    return this.#cancelled
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController()
    if (this.error) this.#controller.abort(this.error)
    return this.#controller.signal
  }

  /** One that ends with this one, and may be interrupted alone. */
  get inner(): Cancellation {
    if (!this.#inner) {
      this.#inner = new Cancellation()
      if (this.error) this.#inner.#end(this.error)
    }
    return this.#inner
  }

  /** Rejects everything that waits, in the same tick. Later calls change nothing. */
  cancel(reason: unknown, runId: string | undefined): void {
    if (this.#cancelled) return
    this.#cancelled = true
    this.#end(new RunCancelledError(reason, { runId }))
  }

  /** The same for an ordinary error, until `resume`: a time limit around the run, or a person's word in an LLM step. */
  interrupt(error: Error): void {
    if (!this.error) this.#end(error)
  }

  /** An interruption is over: what follows may wait again. A cancel stays. */
  resume(): void {
    if (this.#cancelled || !this.error) return
    this.error = undefined
    this.#controller = undefined
    this.#inner?.resume()
  }

  #end(error: Error): void {
    this.error = error
    for (const reject of this.#waiting) reject(error)
    this.#waiting.clear()
    this.#controller?.abort(error)
    if (this.#inner) this.#inner.#end(error)
  }

  /**
   * The promise, or a rejection as soon as the run is cancelled.
   *
   * @param stop called right before that, in the same tick
   */
  wait<T>(promise: PromiseLike<T>, stop?: () => void): Promise<T> {
    return unless(promise, (reject) => this.onCancel(reject), stop)
  }

  /** Calls back in the tick of the cancel. Returns the way to take that back. */
  onCancel(listener: (error: Error) => void): () => void {
    if (this.error) listener(this.error)
    else this.#waiting.add(listener)
    return () => this.#waiting.delete(listener)
  }

  /** How many waits are open. For tests that count. */
  get waiting(): number {
    return this.#waiting.size + (this.#inner?.waiting ?? 0)
  }
}

/** A time limit and the reason to abort with. */
export interface TimeLimit {
  readonly ms: number
  readonly error: () => Error
}

/** The signal of one piece of work: aborts with the run, with a signal that a layer put in its place, or by a time limit. Made when first asked for. */
export class WorkSignal {
  readonly #cancellation: Cancellation
  readonly #own: AbortSignal | undefined
  readonly #limit: TimeLimit | undefined
  #derived: DerivedSignal | undefined
  #unfollow: (() => void) | undefined
  #over = false

  constructor(cancellation: Cancellation, own?: AbortSignal, limit?: TimeLimit) {
    this.#cancellation = cancellation
    this.#own = own
    this.#limit = limit
  }

  get signal(): AbortSignal {
    if (!this.#derived) {
      const derived = derive(this.#own, this.#limit)
      this.#derived = derived
      this.#unfollow = this.#cancellation.onCancel((error) => derived.abort(error))
      // A straggler asked.
      if (this.#over) this.dispose()
    }
    return this.#derived.signal
  }

  /**
   * The promise, or a rejection as soon as the signal aborts: with the signal's reason, or with the run's cancel error.
   *
   * @param stop called right before that, in the same tick
   */
  wait<T>(promise: PromiseLike<T>, stop?: () => void): Promise<T> {
    return this.#cancellation.wait(this.#own || this.#limit ? waitUnder(this.signal, promise, stop) : promise, stop)
  }

  /** Leaves no listener and no timer. */
  dispose(): void {
    this.#over = true
    this.#unfollow?.()
    this.#derived?.dispose()
  }
}
