import type { AgentEvent } from './event.ts'

/** How many events wait for a consumer before the loop does. */
export const bufferSize = 64

type Read = (result: IteratorResult<AgentEvent, undefined>) => void

/**
 * Between the loop, which pushes, and the one consumer, who pulls. While nobody has taken the iterator the queue keeps the latest events and
 * holds nobody; from then on a full buffer makes the pusher wait.
 */
export class EventQueue {
  /** Events that fell out of the buffer before anybody read. */
  lost = 0
  taken = false
  #open = true
  #ended = false
  readonly #buffer: AgentEvent[] = []
  readonly #readers: Read[] = []
  readonly #writers: (() => void)[] = []

  take(): void {
    this.taken = true
  }

  /** @returns a promise where the pusher should wait for the consumer */
  push(event: AgentEvent): void | Promise<void> {
    if (this.#ended) return
    const read = this.#readers.shift()
    if (read) return read({ done: false, value: event })
    if (this.#buffer.push(event) <= bufferSize || !this.#open) return
    if (this.taken) return new Promise((resolve) => this.#writers.push(resolve))
    this.#buffer.shift()
    this.lost++
  }

  read(): Promise<IteratorResult<AgentEvent, undefined>> {
    const value = this.#buffer.shift()
    if (value) {
      if (this.#writers.length > 0 && this.#buffer.length <= bufferSize) this.#wake()
      return Promise.resolve({ done: false, value })
    }
    if (this.#ended) return Promise.resolve({ done: true, value: undefined })
    return new Promise((resolve) => this.#readers.push(resolve))
  }

  #wake(): void {
    for (const resume of this.#writers.splice(0)) resume()
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
