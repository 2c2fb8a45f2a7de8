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
  run(alone: boolean, task: () => Promise<void>): Promise<void> {
    return new Promise((done) => {
      this.#waiting.push({ alone, start: () => done(this.#take(task)) })
      this.#next()
    })
  }

  async #take(task: () => Promise<void>): Promise<void> {
    try {
      await task()
    } finally {
      this.#running--
      this.#alone = false
      this.#next()
    }
  }

  #next(): void {
    for (let [first] = this.#waiting; first && this.#admits(first.alone); [first] = this.#waiting) {
      this.#waiting.shift()
      this.#running++
      this.#alone = first.alone
      first.start()
    }
  }

  #admits(alone: boolean): boolean {
    return !this.#alone && this.#running < (alone ? 1 : this.#limit)
  }
}
