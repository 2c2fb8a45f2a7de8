import type { Context, HelperRequest, SessionView } from '../ctx.ts'
import { hooks, points } from '../hooks.ts'
import type { HookPoint, Point, Transform } from '../hooks.ts'
import type { Json } from '../json.ts'
import type { LLMStep } from '../model.ts'
import type { StateKey } from '../state.ts'
import { mayRewrite } from '../middleware/on-events.ts'
import { toJson } from '../tool/serialise.ts'
import { observed, Phase } from './frame.ts'
import type { Frame } from './frame.ts'

/**
 * What a layer holds in its hands. One object a layer and pass, frozen: so that core knows who assigns, emits or asks a model, and can make a
 * straggler's ctx inert.
 */
class LayerContext implements Context {
  readonly #frame: Frame

  constructor(frame: Frame) {
    this.#frame = frame
    Object.freeze(this)
  }

  static frameOf(ctx: LayerContext): Frame {
    return ctx.#frame
  }

  get #run(): Frame['pass']['run'] {
    return this.#frame.pass.run
  }

  get #open(): boolean {
    return !this.#frame.closed
  }

  get point(): Point {
    return this.#frame.pass.name
  }

  get agent(): Context['agent'] {
    return this.#run.agent
  }

  get session(): SessionView {
    return this.#run.sessionView
  }

  get runId(): string {
    return this.#run.runId
  }

  get turn(): number {
    return this.#frame.pass.unit.turn
  }

  get input(): Context['input'] {
    return this.#run.input
  }

  get metadata(): unknown {
    return this.#run.metadata
  }

  get signal(): AbortSignal {
    return this.#run.cancellation.signal
  }

  get cancelled(): boolean {
    return this.#run.cancellation.cancelled
  }

  get controller(): Context['controller'] {
    return this.#run.controller
  }

  get runtime(): Context['runtime'] {
    return this.#run.runtime
  }

  get logger(): Context['logger'] {
    return this.#run.logger
  }

  get path(): readonly string[] {
    return this.#run.path
  }

  get decision(): Context['decision'] {
    return this.#frame.pass.decision ?? this.#frame.pass.stop
  }

  get<T>(key: StateKey<T>): T {
    return this.#run.state.get(key)
  }

  set<T>(key: StateKey<T>, value: T): void {
    if (this.#open) this.#run.state.set(key, value)
  }

  update<T>(key: StateKey<T>, reducer: (value: T) => T): T {
    return this.#open ? this.#run.state.update(key, reducer) : this.#run.state.get(key)
  }

  emit(name: string, data: unknown = null): void {
    if (this.#open) this.#run.emitCustom(name, data, this.#frame.pass, this.#frame.layer)
  }

  callModel(request: HelperRequest): Promise<LLMStep> {
    const { pass, layer } = this.#frame
    if (!this.#open)
      return observed(Promise.reject(this.#frame.contractError('callModel was called after the layer had settled')))
    return observed(pass.run.callModel(request, pass, layer))
  }

  sanitize(value: Json): Json {
    return this.#run.sanitizer?.value(value) ?? value
  }
}

export type ContextClass = new (frame: Frame) => object

/** Methods that some points add. */
const methods = {
  addContext(this: LayerContext, text: string): void {
    const { pass, layer, closed } = LayerContext.frameOf(this)
    if (!closed) pass.note(layer, String(text))
  },
  transform(this: LayerContext, transform: Transform): void {
    const frame = LayerContext.frameOf(this)
    if (frame.closed) return
    if (frame.phase !== Phase.inward) frame.violate('it called ctx.transform after next(): the stream has begun; call it before')
    frame.pass.transforms = [...frame.pass.transforms, { layer: frame.layer, transform }]
  },
  progress(this: LayerContext, data: unknown): void | Promise<void> {
    const { pass, layer, closed } = LayerContext.frameOf(this)
    if (!closed) return pass.run.emitProgress(pass.unit, toJson(data), { layer, inEventPass: false })
  },
}

/** A class a point: the fields of its row as accessors, those of `write` with a setter that knows the rules. */
function classFor(name: Point): ContextClass {
  const point: HookPoint = hooks[name]
  const PointContext = class extends LayerContext {}
  for (const field of point.fields) {
    const method = Object.hasOwn(methods, field) ? methods[field as keyof typeof methods] : undefined
    Object.defineProperty(PointContext.prototype, field, method ? { value: method } : accessor(field, point))
  }
  return PointContext
}

function accessor(field: string, point: HookPoint): PropertyDescriptor {
  return {
    get(this: LayerContext) {
      const { pass } = LayerContext.frameOf(this)
      return pass.fields[field] ?? (field === 'signal' ? pass.run.cancellation.signal : undefined)
    },
    ...(point.write.includes(field) ? { set: setter(field, point) } : {}),
  }
}

function setter(field: string, { kind }: HookPoint) {
  return function set(this: LayerContext, value: unknown): void {
    const frame = LayerContext.frameOf(this)
    if (frame.closed) return
    if (field === 'event' && !mayRewrite(frame.layer.middleware.on_event))
      frame.violate('it assigned ctx.event: ask for that with onEvents(types, handler, { rewrite: true })')
    if (kind !== 'after' && frame.phase !== Phase.inward) {
      frame.violate(
        `it assigned ctx.${field} after next(), when what stands further in had already seen it: assign it before next()`,
      )
    }
    if (kind === 'after' && frame.phase === Phase.waiting) {
      frame.violate(`it assigned ctx.${field} while its next() was pending: assign it before next() or after awaiting it`)
    }
    const problem = frame.pass.assign(field, value)
    if (problem !== undefined) frame.violate(problem)
    frame.pass.writer = frame.layer
  }
}

/** The class of what layers hold at each point. */
export const contexts: Readonly<Record<Point, ContextClass>> = Object.fromEntries(
  points.map((name) => [name, classFor(name)]),
) as Record<Point, ContextClass>
