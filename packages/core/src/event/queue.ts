import type { AgentEvent } from './event.ts'

/** How many events wait for a consumer before the loop does. */
export const bufferSize = 64

type Read = (result: IteratorResult<AgentEvent, undefined>) => void

/**
 * Between the loop, which pushes, and the one consumer, who pulls. While nobody has taken the iterator the queue keeps the latest events and
 * holds nobody; from then on a full buffer makes the pusher wait.
 */
export class EventQueue {
  #buffer: AgentEvent[] = []
  #head = 0
  #lost = 0
  #taken = false
  #open = true
  #ended = false
  readonly #readers: Read[] = []
  #writers: (() => void)[] = []

  /** Events that fell out of the buffer before anybody read. */
  get lost(): number {
    return this.#lost
  }

  get taken(): boolean {
    return this.#taken
  }

  take(): void {
    this.#taken = true
  }

  /** @returns a promise where the pusher should wait for the consumer */
  push(event: AgentEvent): void | Promise<void> {
    if (this.#ended) return
    const read = this.#readers.shift()
    if (read) return read({ done: false, value: event })
    this.#buffer.push(event)
    if (this.#buffer.length - this.#head <= bufferSize || !this.#open) return
    if (this.#taken) return new Promise((resolve) => this.#writers.push(resolve))
    this.#shift()
    this.#lost++
  }

  #shift(): AgentEvent | undefined {
    const event = this.#buffer[this.#head]
    this.#buffer[this.#head++] = undefined as never
    // Moves the rest up now and then, so that reading stays linear in the number of events.
    if (this.#head > bufferSize && this.#head * 2 > this.#buffer.length) {
      this.#buffer = this.#buffer.slice(this.#head)
      this.#head = 0
    }
    return event
  }

  read(): Promise<IteratorResult<AgentEvent, undefined>> {
    if (this.#head < this.#buffer.length) {
      const value = this.#shift() as AgentEvent
      if (this.#writers.length > 0 && this.#buffer.length - this.#head <= bufferSize) this.#wake()
      return Promise.resolve({ done: false, value })
    }
    if (this.#ended) return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve) => this.#readers.push(resolve))
  }

  #wake(): void {
    const writers = this.#writers
    this.#writers = []
    for (const resume of writers) resume()
  }

  /** From now on nobody waits for the consumer: the run is ending. */
  release(): void {
    this.#open = false
    this.#wake()
  }

  /** No event follows. What is buffered can still be read. */
  end(): void {
    this.release()
    this.#ended = true
    for (const read of this.#readers.splice(0)) read({ done: true, value: undefined })
  }
}
