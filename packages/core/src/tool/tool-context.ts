import type { StateKey } from '../state.ts'
import type { WorkSignal } from '../signal.ts'
import type { Call } from './call.ts'
import type { ToolCtx } from './define.ts'
import { toJson } from './serialise.ts'

/** What a tool holds in its hands while its call lasts; inert afterwards. */
export class ToolContext implements ToolCtx {
  readonly #call: Call
  readonly #work: WorkSignal
  #open = true

  constructor(call: Call, work: WorkSignal) {
    this.#call = call
    this.#work = work
    Object.freeze(this)
  }

  get open(): boolean {
    return this.#open
  }

  close(): void {
    this.#open = false
  }

  get callId(): string {
    return this.#call.part.callId
  }

  get toolName(): string {
    return this.#call.part.toolName
  }

  get runId(): string {
    return this.#call.run.runId
  }

  get turn(): number {
    return this.#call.turn
  }

  get signal(): AbortSignal {
    return this.#work.signal
  }

  get metadata(): unknown {
    return this.#call.run.metadata
  }

  get idempotencyKey(): string {
    return this.#call.idempotencyKey
  }

  get session(): ToolCtx['session'] {
    return this.#call.run.handle.view
  }

  get<T>(key: StateKey<T>): T {
    return this.#call.run.state.get(key)
  }

  set<T>(key: StateKey<T>, value: T): void {
    if (this.#open) this.#call.run.state.set(key, value)
  }

  update<T>(key: StateKey<T>, reducer: (value: T) => T): T {
    const { state } = this.#call.run
    return this.#open ? state.update(key, reducer) : state.get(key)
  }

  progress(data: unknown): void | Promise<void> {
    if (this.#open) return this.#call.run.emitProgress(this.#call, toJson(data))
  }

  emit(name: string, data: unknown = null): void {
    const { run, which } = this.#call
    if (this.#open) void run.emit('custom', { name, data: toJson(data), ...which }, this.#call)
  }
}
