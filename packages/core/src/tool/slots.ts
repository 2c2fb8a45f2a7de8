interface Waiting {
  readonly alone: boolean
  readonly start: () => void
}

/** Lets tasks run side by side up to a limit, in the order they came; one that must be alone waits for those before it and holds those behind it. */
export class Slots {
  readonly #limit: number
  readonly #waiting: Waiting[] = []
  #running = 0
  #alone = false

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Runs the task in its turn. */
  run(alone: boolean, task: () => void | Promise<void>): Promise<void> {
    if (this.#waiting.length === 0 && this.#admits(alone)) return this.#take(alone, task)
    return new Promise((done) => {
      this.#waiting.push({ alone, start: () => done(this.#take(alone, task)) })
    })
  }

  async #take(alone: boolean, task: () => void | Promise<void>): Promise<void> {
    this.#running++
    this.#alone = alone
    try {
      await task()
    } finally {
      this.#running--
      this.#alone = false
      this.#next()
    }
  }

  #next(): void {
    for (let first = this.#waiting[0]; first && this.#admits(first.alone); first = this.#waiting[0]) {
      this.#waiting.shift()
      first.start()
    }
  }

  #admits(alone: boolean): boolean {
    return !this.#alone && this.#running < (alone ? 1 : this.#limit)
  }
}
