import type { UserMessage } from '../message.ts'

/** Messages of people to a run under way, in the order in which they came. */
export class Steering {
  readonly #waiting: UserMessage[] = []
  readonly #denied: UserMessage[] = []

  add(message: UserMessage): void {
    this.#waiting.push(message)
  }

  /** The one that is next. It stays until it is `settled`: a run that ends meanwhile has not delivered it. */
  get next(): UserMessage | undefined {
    return this.#waiting[0]
  }

  settled(delivered: boolean): void {
    const message = this.#waiting.shift()
    if (message && !delivered) this.#denied.push(message)
  }

  get undelivered(): readonly UserMessage[] | undefined {
    const all = [...this.#denied, ...this.#waiting]
    return all.length > 0 ? Object.freeze(all) : undefined
  }
}
