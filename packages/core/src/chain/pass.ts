import type { Allow, AllowCall, Decision, ReplaceResult, Stop } from '../decision.ts'
import { rewritten } from '../event/event.ts'
import { deepFreeze } from '../freeze.ts'
import { hooks } from '../hooks.ts'
import type { HookPoint, Point, PointKind, StepRequest, Transform } from '../hooks.ts'
import { isObject } from '../json.ts'
import type { JsonObject } from '../json.ts'
import { mayRewrite } from '../middleware/on-events.ts'
import type { ActiveRun } from '../run/active-run.ts'
import type { UserMessage } from '../message.ts'
import { jsonArgs } from '../tool/json.ts'
import { isContentPart } from '../session/shape.ts'
import type { Cancellation } from '../signal.ts'
import type { Chain } from './compile.ts'
import type { Frame } from './frame.ts'
import type { Layer, Unit } from './layer.ts'

interface Note {
  readonly layer: number
  readonly text: string
}

interface TransformOf {
  readonly layer: Layer
  readonly transform: Transform
}

const ready = Promise.resolve()
const none: readonly never[] = Object.freeze([])

/** Makes of what a layer returned what the layers further out get. */
export interface Refiner {
  refine(value: unknown, pass: Pass, layer: Layer): Promise<unknown>
}

/** One way of a value or a question through the layers of one point. What its layers share lives here. */
export class Pass {
  readonly run: ActiveRun
  readonly name: Point
  readonly point: HookPoint
  readonly kind: PointKind
  readonly unit: Unit
  /** What ends its layers' work. Those that observe have no part in an interruption. */
  readonly scope: Cancellation
  /** The point's own ctx fields. */
  readonly fields: Record<string, unknown>
  /** What an around point stands around; of a gate, who decides behind its last layer. */
  readonly work: (() => unknown) | undefined
  /** Layers that this pass leaves out: those on whose behalf it is made. */
  readonly excluded: ReadonlySet<Layer> | undefined
  /** The strictest decision so far, and the layer whose it is. */
  decision: Decision | undefined
  by: Layer | undefined
  /** The arguments as they were when that decision was made. */
  decidedOn: JsonObject | undefined
  /** At before_tool, beside the decision. */
  stop: Stop | undefined
  stopBy: Layer | undefined
  /** The last replace_result, which counts when a stricter question is answered with yes. */
  replacement: { readonly decision: ReplaceResult; readonly by: Layer } | undefined
  /** Of on_permission_request: allows of layers further in than this count as no opinion. */
  yesUpTo: number = Infinity
  /** The layer that last assigned a field. */
  writer: Layer | undefined
  /** Of around_llm_step: what a layer returns in place of the inner step goes through the transforms further out. */
  refiner: Refiner | undefined
  /** What the innermost work failed with, to tell it from a layer's own failure. */
  workError: { readonly error: unknown } | undefined
  /** What a transform of this pass failed with. */
  transformError: { readonly error: unknown } | undefined
  /** The innermost layer that is still open. */
  top: Frame | undefined
  notes: readonly Note[] = none
  transforms: readonly TransformOf[] = none
  #entering = false
  /** Has it come to its end while it was entered? */
  #ended = false
  /** Could a layer of it hang? */
  #watched = false

  constructor(
    run: ActiveRun,
    name: Point,
    unit: Unit,
    fields: Record<string, unknown>,
    work?: () => unknown,
    excluded?: ReadonlySet<Layer>,
  ) {
    this.run = run
    this.name = name
    this.point = hooks[name]
    this.kind = this.point.kind
    this.unit = unit
    this.scope = (name === 'on_event' ? undefined : unit.scope) ?? run.cancellation
    this.fields = fields
    this.work = work
    this.excluded = excluded
  }

  /**
   * Goes through a chain.
   *
   * @returns nothing where all its layers have been left at once: each gave on what `next()` gave it; otherwise a promise by which they have
   */
  enter(chain: Chain): Promise<unknown> | undefined {
    this.#entering = true
    const settled = chain(this)
    this.#entering = false
    if (!this.#ended) return settled
    this.tell(false, this.outcome())
    return this.top && settled
  }

  /** What stands behind the last layer. The layer that asked for it hears of it when its hook has returned, and before the promise settles. */
  end(): Promise<unknown> {
    if (this.work) return this.#doWork()
    if (!this.#entering) return ready.then(() => this.tell(false, this.outcome()))
    this.#ended = true
    return Promise.resolve(this.outcome())
  }

  /** What `next()` gives where no layer's own value does: the decision of a gate, the value of an after point. */
  outcome(): unknown {
    if (this.kind === 'gate') return this.decision ?? this.stop
    return this.kind === 'after' ? this.value : undefined
  }

  async #doWork(): Promise<unknown> {
    let value: unknown
    try {
      value = await this.work?.()
    } catch (error) {
      this.workError = { error }
      return this.tell(true, error)
    }
    return this.tell(false, value)
  }

  /**
   * What has settled tells the innermost layer that is still open, and through it those that settle with it.
   *
   * @returns or throws what it comes to
   */
  tell(failed: boolean, outcome: unknown): unknown {
    if (this.top) return this.top.hear(failed, outcome)
    if (this.#watched) this.run.passes.delete(this)
    if (failed) throw outcome
    return outcome
  }

  /** From now on a layer of it may hang, and is given up after a cancel. */
  watch(): void {
    if (this.#watched) return
    this.#watched = true
    this.run.passes.add(this)
  }

  get value(): unknown {
    return this.fields[this.point.write[0] ?? '']
  }

  set value(value: unknown) {
    this.fields[this.point.write[0] ?? ''] = deepFreeze(value)
  }

  /** Is this layer part of this pass? */
  admits(layer: Layer): boolean {
    if (this.excluded?.has(layer)) return false
    // An event of a step may be about a call too: a piece of its arguments.
    const { toolName } = this.unit.toolName === undefined ? ((this.fields.event ?? {}) as { toolName?: string }) : this.unit
    if (toolName !== undefined && layer.filters.length > 0 && !layer.filters.every((accepts) => accepts(toolName))) return false
    return this.run.isActive(layer, this.unit)
  }

  note({ index }: Layer, text: string): void {
    this.notes = [...this.notes, { layer: index, text }]
  }

  /** The notes of all layers, in registration order. */
  get context(): string {
    return this.notes
      .toSorted((a, b) => a.layer - b.layer)
      .map((note) => note.text)
      .join('\n')
  }

  /**
   * Adds a layer's decision. The strictest wins; of two alike the later, but of two questions the one that was asked further out.
   *
   * @param inward is it given on the way in, where rewrites still reach the layers further in?
   * @returns what is wrong with it, if anything
   */
  decide(decision: Decision, layer: Layer, inward: boolean): string | undefined {
    const { decisions } = this.point
    if (!decisions.includes(decision.kind)) {
      const may = decisions.length > 0 ? `may return ${decisions.join(', ')}` : 'takes no decisions'
      return `it returned ${decision.kind}, and ${this.name} ${may}`
    }
    const content = decision.kind === 'replace_result' ? decision.result : decision.kind === 'continue_run' && decision.message
    if (content !== false && this.point.carries?.(content, this.fields) === false) {
      return `its ${decision.kind} carries ${content === null ? 'null' : typeof content}, which is no answer that ${this.name} takes`
    }
    if (decision.kind === 'drop' && !mayRewrite(layer.middleware.on_event)) {
      return 'it dropped an event: ask for that with onEvents(types, handler, { rewrite: true })'
    }
    // Layers further out see it, and none may change it under the others.
    if (decision.kind === 'retry') Object.freeze(decision)
    else deepFreeze(decision)
    if (decision.kind === 'allow') {
      if (layer.index > this.yesUpTo) return undefined
      const problem = this.#takeFields(decision, layer, inward)
      if (problem !== undefined) return problem
    }
    if (decision.kind === 'stop' && this.name === 'before_tool') {
      this.stop ??= decision
      this.stopBy ??= layer
      return undefined
    }
    if (decision.kind === 'replace_result') this.replacement = { decision, by: layer }
    const rank = (kind: string): number => decisions.indexOf(kind)
    const current = this.decision
    if (current && rank(current.kind) < rank(decision.kind)) return undefined
    if (current?.kind === decision.kind) {
      if (decision.kind === 'ask' && (this.by?.index ?? 0) <= layer.index) return undefined
      // A denier's reason may be reworded further out; the denial stays the denier's.
      if (decision.kind === 'deny') return void (this.decision = decision)
    }
    this.decision = decision
    this.by = layer
    this.decidedOn = this.fields.args as JsonObject | undefined
    return undefined
  }

  #takeFields({ args, context }: Allow | AllowCall, layer: Layer, inward: boolean): string | undefined {
    if (args !== undefined) {
      if (!this.point.write.includes('args'))
        return `allow({ args }) rewrites arguments, which ${this.name} cannot; do it at before_tool`
      if (!inward)
        return 'it returned allow({ args }) after next(), when inner layers had already judged the arguments: rewrite before next()'
      const problem = this.assign('args', args)
      if (problem !== undefined) return problem
      this.writer = layer
    }
    if (context !== undefined) {
      if (this.name !== 'before_tool') return `allow({ context }) is for before_tool, not for ${this.name}`
      this.note(layer, context)
    }
    return undefined
  }

  /** @returns what is wrong with the value, if anything */
  assign(field: string, value: unknown): string | undefined {
    if (field === 'signal' && !isSignal(value)) return 'ctx.signal must be an AbortSignal: derive one with deriveSignal'
    if (field === 'message' && !isUserMessage(value)) return 'ctx.message must be a user message: assign { ...ctx.message, … }'
    if (field === 'maxTurns' && !(typeof value === 'number' && value >= 0)) return 'maxTurns must be a number of at least 0'
    if (this.point.accepts && field === this.point.write[0] && this.kind === 'after' && !this.point.accepts(value)) {
      return `what it assigned to ctx.${field} is not what ${this.name} passes on`
    }
    if (field === 'request') return this.#assignRequest(value)
    if (field === 'event') return this.#assignEvent(value)
    if (field === 'args') return this.#assignArgs(value)
    this.fields[field] = field === 'signal' ? value : deepFreeze(value)
    return undefined
  }

  /** As JSON has them, in a copy: what is judged, told, stored and executed is the same. */
  #assignArgs(value: unknown): string | undefined {
    const args = jsonArgs(value)
    if (typeof args === 'string') return args
    this.fields.args = deepFreeze(args)
    return undefined
  }

  #assignEvent(value: unknown): string | undefined {
    if (!isObject(value)) return 'an event is rewritten to an object: return { ...event, … }'
    this.fields.event = deepFreeze(rewritten(value, this.fields.event as object))
    return undefined
  }

  #assignRequest(value: unknown): string | undefined {
    const request = value as Partial<StepRequest> | undefined
    if (typeof request?.model?.stream !== 'function') return 'ctx.request needs a model: assign { ...ctx.request, … }'
    if (!Array.isArray(request.messages) || !Array.isArray(request.tools)) return 'ctx.request needs lists of messages and tools'
    this.fields.request = freezeRequest(request as StepRequest)
    return undefined
  }

  /** All that a layer may change, as it is now: put back when a layer under 'log' or 'ignore' fails. */
  save(): object {
    const { top: _open, ...state } = this
    return { ...state, fields: { ...this.fields } }
  }

  restore(saved: object): void {
    Object.assign(this, saved)
  }
}

/** Freezes what is plain data. The model is somebody's live object and stays as it is. */
export function freezeRequest(request: StepRequest): StepRequest {
  deepFreeze(request.messages)
  deepFreeze(request.settings)
  Object.freeze(request.tools)
  return Object.freeze(request)
}

function isSignal(value: unknown): value is AbortSignal {
  return isObject(value) && 'aborted' in value && 'addEventListener' in value
}

function isUserMessage(value: unknown): value is UserMessage {
  const message = value as Partial<UserMessage> | undefined
  return message?.role === 'user' && Array.isArray(message.content) && message.content.every(isContentPart)
}
