import { enter } from '../chain/compile.ts'
import type { Chain } from '../chain/compile.ts'
import type { Layer, Unit } from '../chain/layer.ts'
import { Pass } from '../chain/pass.ts'
import { freezeFields } from '../freeze.ts'
import type { ActiveRun } from '../run/active-run.ts'
import type { AgentEvent, EventFields, EventType } from './event.ts'
import { streamed, structural, terminal } from './event.ts'
import type { EventQueue } from './queue.ts'

/** An event before it is delivered: its place in the order is not known yet. */
type Draft = Omit<AgentEvent, 'seq'> & { readonly type: EventType }

interface Pending {
  readonly draft: Draft
  readonly chain: Chain | undefined
  readonly unit: Unit
  readonly source: Layer | undefined
  readonly done: () => void
}

/** Who caused an event, where it was a layer. */
export interface Source {
  /** It does not get the event itself; absent where core tells of a layer. */
  readonly layer: Layer | undefined
  /** Caused during an on_event pass: it comes after that pass and skips on_event, or there would be no end. */
  readonly inEventPass: boolean
}

/** Gives events to the layers that asked for them, one at a time, and then to the consumer. */
export class Emitter {
  readonly #run: ActiveRun
  readonly #queue: EventQueue | undefined
  readonly #pending: Pending[] = []
  #busy = false
  #seq = 0
  #ended = false

  constructor(run: ActiveRun, queue: EventQueue | undefined) {
    this.#run = run
    this.#queue = queue
  }

  /** Could anybody hear of any event? Where nobody could, there is nothing to build one for. */
  get heard(): boolean {
    return this.#queue !== undefined || this.#run.chains.observed
  }

  /** @returns a promise where there is something to wait for: layers, earlier events, a slow consumer. It never rejects. */
  emit<T extends EventType>(type: T, fields: EventFields[T], unit: Unit, source?: Source): void | Promise<void> {
    if (this.#ended || !this.heard) return
    // Counted whether or not anybody reads, so that an event has the same id in every mode.
    const place = unit.count++
    if (terminal.has(type)) {
      this.#queue?.release()
      this.#ended = type === 'run_end'
    }
    const chain = source?.inEventPass ? undefined : this.#run.chains.forEvent(type)
    if (!chain && !this.#queue) return
    const draft = this.#draft(type, fields, unit, place, !chain)
    if (!chain && !this.#busy) return this.#deliver(draft)
    return new Promise((done) => {
      this.#pending.push({ draft, chain, unit, source: source?.layer, done })
      if (!this.#busy) void this.#pump()
    })
  }

  /** @param unseen no layer gets it: then it has room for its place in the order from the start, which is cheaper than a copy */
  #draft<T extends EventType>(type: T, fields: EventFields[T], { op, turn }: Unit, place: number, unseen: boolean): Draft {
    const { runId, agent, path, sanitizer } = this.#run
    const id = `${runId}/${op}#${place}`
    const draft = unseen
      ? { type, seq: 0, id, runId, agent: agent.name, path, turn, ...fields }
      : { type, id, runId, agent: agent.name, path, turn, ...fields }
    return (sanitizer ? sanitizer.event(draft) : draft) as Draft
  }

  async #pump(): Promise<void> {
    this.#busy = true
    for (let next = this.#pending.shift(); next; next = this.#pending.shift()) {
      const draft = next.chain ? await this.#throughLayers(next, next.chain) : next.draft
      if (draft) await this.#deliver(draft)
      next.done()
    }
    this.#busy = false
  }

  /** A layer that fails never loses the event: the run fails at its loop. */
  async #throughLayers({ draft, unit, source }: Pending, chain: Chain): Promise<Draft | undefined> {
    const run = this.#run
    const pass = new Pass(run, 'on_event', unit, { event: freezeFields(draft) }, undefined, source && new Set([source]))
    try {
      await enter(chain, pass)
    } catch (error) {
      run.failAtLoop(error)
    }
    if (pass.decision && !structural.has(draft.type)) return undefined
    const event = pass.fields.event as Draft
    return event === draft || !run.sanitizer ? event : run.sanitizer.event(event)
  }

  #deliver(draft: Draft): void | Promise<void> {
    if (!this.#queue) return
    // Layers have had a frozen one.
    const event: Draft & { seq?: number } = Object.isFrozen(draft) ? { seq: 0, ...draft } : draft
    event.seq = this.#seq++
    return this.#queue.push((streamed.has(event.type) ? Object.freeze(event) : freezeFields(event)) as AgentEvent)
  }
}
