import type { ChildProcess } from 'node:child_process'
import { obituary, start } from './child.ts'
import type { LaneId } from './lane.ts'
import type { Reply, Request } from './worker.ts'

/** Longer than any slice: a contender that hangs must not stop the others. */
const patienceMs = 120_000

/** A contender's process. */
class Worker {
  readonly #child: ChildProcess
  #said = ''
  #settle: ((reply: Reply) => void) | undefined

  constructor() {
    this.#child = start('worker')
    this.#child.stderr?.on('data', (text: Buffer) => (this.#said += text.toString()))
    this.#child.on('message', (reply: Reply) => this.#settle?.(reply))
    this.#child.once('error', (error) => this.#settle?.({ error: error.message }))
    this.#child.once('close', (code, signal) => this.#settle?.({ error: obituary(code, signal, this.#said) }))
  }

  ask(request: Request): Promise<Reply> {
    if (!this.#child.connected) return Promise.resolve({ error: 'its process has ended' })
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.stop()
        resolve({ error: `no answer within ${(request.ms + patienceMs) / 1_000} s` })
      }, request.ms + patienceMs)
      this.#settle = (reply) => {
        clearTimeout(timer)
        resolve(reply)
      }
      this.#child.send(request)
    })
  }

  stop(): void {
    this.#child.kill('SIGKILL')
  }
}

/** A lane, and the process that it shares with those of the same name. */
export interface Place {
  readonly process: string
  readonly lane: LaneId
  /** What its figure is called, where the variant alone would not tell. */
  readonly as?: string
}

/** The processes of one part. */
export class Crew {
  readonly #workers = new Map<string, Worker>()

  /** @throws Error that says which lane has failed, and why */
  async measure({ process, lane }: Place, ms: number): Promise<number> {
    const worker = this.#workers.get(process) ?? new Worker()
    this.#workers.set(process, worker)
    const reply = await worker.ask({ lane, ms })
    if ('cpu' in reply) return reply.cpu
    throw new Error(`${lane.part}, ${lane.contender}, ${lane.variant}: ${reply.error}`)
  }

  stop(): void {
    for (const worker of this.#workers.values()) worker.stop()
    this.#workers.clear()
  }
}
