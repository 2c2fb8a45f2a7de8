import { Phase } from '../chain/frame.ts'
import type { Frame } from '../chain/frame.ts'
import type { ActiveRun } from './active-run.ts'

/** How long layers have to unwind after a cancel, in milliseconds. */
const graceMs = 50

/** How often it is looked at again after that: a layer that has hung for one interval is given up too. */
const sweepMs = 10

/** Gives up layers that do not settle after a cancel, innermost first, so that those around them can still unwind. */
export class Grace {
  readonly #run: ActiveRun
  #timer: ReturnType<typeof setTimeout> | undefined
  #hanging: ReadonlySet<Frame> | undefined
  #over = false

  constructor(run: ActiveRun) {
    this.#run = run
  }

  start(): void {
    if (this.#over || this.#timer !== undefined) return
    this.#hanging = this.#stuck()
    this.#timer = setTimeout(() => this.#sweep(), graceMs)
  }

  /** What had to end has ended. */
  pause(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  stop(): void {
    this.#over = true
    clearTimeout(this.#timer)
  }

  #sweep(): void {
    for (const frame of this.#stuck()) if (this.#hanging?.has(frame)) frame.abandon()
    this.#hanging = this.#stuck()
    this.#timer = setTimeout(() => this.#sweep(), sweepMs)
  }

  /** The innermost open layer of each chain that must end, unless it waits for work of core's own, which ends by itself. */
  #stuck(): ReadonlySet<Frame> {
    const frames = new Set<Frame>()
    const { error, inner } = this.#run.cancellation
    // A cancel that comes when all is decided ends whatever still stands; an interruption, the work of its step alone.
    const all = error !== undefined || inner.error === undefined
    for (const { top, scope } of this.#run.passes) if (top && top.phase !== Phase.waiting && (all || scope.error)) frames.add(top)
    return frames
  }
}
