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

/** What its layers have made of an event. Nothing where one dropped it. */
type Passed = Draft | undefined

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
    if (this.#busy) return new Promise((done) => void this.#pending.push({ draft, chain, unit, source: source?.layer, done }))
    return chain ? this.#first(draft, chain, unit, source?.layer) : this.#deliver(draft)
  }

  /** A piece of the answer. There may be a thousand of them in a second, so where no layer asked for them they take the shortest way. */
  text(text: string, attempt: number, unit: Unit): void | Promise<void> {
    const { runId, agent, path, chains } = this.#run
    const { op: stepId, turn } = unit
    if (!this.#queue || this.#busy || this.#ended || chains.forEvent('text_delta'))
      return this.emit('text_delta', { stepId, attempt, text }, unit)
    const id = `${runId}/${stepId}#${unit.count++}`
    const seq = this.#seq++
    return this.#queue.push(
      Object.freeze({ type: 'text_delta', seq, id, runId, agent: agent.name, path, turn, stepId, attempt, text }),
    )
  }

  /** An event that no other holds up. Nobody waits for it where its layers and the consumer take no time, and cause no other. */
  #first(draft: Draft, chain: Chain, unit: Unit, source: Layer | undefined): void | Promise<void> {
    this.#busy = true
    const passed = this.#throughLayers(draft, chain, unit, source)
    if (passed instanceof Promise) return this.#slowly(passed)
    const held = passed && this.#deliver(passed)
    if (held || this.#pending.length > 0) return this.#slowly(undefined, held)
    this.#busy = false
  }

  /** @param unseen no layer gets it: then it has room for its place in the order from the start, which is cheaper than a copy */
  #draft<T extends EventType>(type: T, fields: EventFields[T], { op, turn }: Unit, place: number, unseen: boolean): Draft {
    const { runId, agent, path, sanitizer } = this.#run
    const id = `${runId}/${op}#${place}`
    const draft = unseen
      ? { type, seq: 0, id, runId, agent: agent.name, path, turn, ...fields }
      : { type, id, runId, agent: agent.name, path, turn, ...fields }
    return sanitizer ? sanitizer.event(draft) : draft
  }

  async #slowly(passed: Promise<Passed> | undefined, held?: void | Promise<void>): Promise<void> {
    const event = await passed
    await (event ? this.#deliver(event) : held)
    void this.#pump()
  }

  /** What came in meanwhile. */
  async #pump(): Promise<void> {
    for (let next = this.#pending.shift(); next; next = this.#pending.shift()) {
      const { draft, chain, unit, source, done } = next
      const event = chain ? await this.#throughLayers(draft, chain, unit, source) : draft
      if (event) await this.#deliver(event)
      done()
    }
    this.#busy = false
  }

  /** A layer that fails never loses the event: the run fails at its loop. */
  #throughLayers(draft: Draft, chain: Chain, unit: Unit, source: Layer | undefined): Passed | Promise<Passed> {
    const excluded = source && new Set([source])
    const pass = new Pass(this.#run, 'on_event', unit, { event: freezeFields(draft) }, undefined, excluded)
    const leaving = pass.enter(chain)
    return leaving ? this.#left(leaving, pass, draft) : this.#outcome(pass, draft)
  }

  async #left(leaving: Promise<unknown>, pass: Pass, draft: Draft): Promise<Passed> {
    try {
      await leaving
    } catch (error) {
      this.#run.failAtLoop(error)
    }
    return this.#outcome(pass, draft)
  }

  #outcome(pass: Pass, draft: Draft): Passed {
    if (pass.decision && !structural.has(draft.type)) return undefined
    const event = pass.fields.event as Draft
    const { sanitizer } = this.#run
    return event === draft || !sanitizer ? event : sanitizer.event(event)
  }

  #deliver(draft: Draft): void | Promise<void> {
    if (!this.#queue) return
    // Layers have had a frozen one.
    const event: Draft & { seq?: number } = Object.isFrozen(draft) ? { seq: 0, ...draft } : draft
    event.seq = this.#seq++
    return this.#queue.push((streamed.has(event.type) ? Object.freeze(event) : freezeFields(event)) as AgentEvent)
  }
}
