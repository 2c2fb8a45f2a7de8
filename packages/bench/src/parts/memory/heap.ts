import { setTimeout } from 'node:timers/promises'

export const mebi = 2 ** 20

/** What is reachable, in MiB. Needs --expose-gc. */
export async function heapAfterGc(): Promise<number> {
  if (!globalThis.gc) throw new Error('start it with --expose-gc')
  // What finalisation and weak references let go of falls in a later collection.
  for (let i = 0; i < 3; i++) {
    await setTimeout(1)
    globalThis.gc()
  }
  return process.memoryUsage().heapUsed / mebi
}

/** Keeps the highest heap that it has seen. */
export class Peak {
  #bytes = 0

  look(): void {
    this.#bytes = Math.max(this.#bytes, process.memoryUsage().heapUsed)
  }

  get mebibytes(): number {
    return this.#bytes / mebi
  }
}
