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
 * straggler's ctx inert. No private methods: they would cost each of these objects one more private field.
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

  get point(): Point {
    return this.#frame.pass.name
  }

  get agent(): Context['agent'] {
    return this.#frame.run.agent
  }

  get session(): SessionView {
    return this.#frame.run.handle.view
  }

  get runId(): string {
    return this.#frame.run.runId
  }

  get turn(): number {
    return this.#frame.pass.unit.turn
  }

  get input(): Context['input'] {
    return this.#frame.run.input
  }

  get metadata(): unknown {
    return this.#frame.run.metadata
  }

  get signal(): AbortSignal {
    return this.#frame.pass.scope.signal
  }

  get cancelled(): boolean {
    return this.#frame.run.cancellation.cancelled
  }

  get controller(): Context['controller'] {
    return this.#frame.run.controller
  }

  get runtime(): Context['runtime'] {
    const { run, pass } = this.#frame
    return run.runtimeUnder(pass.scope)
  }

  get logger(): Context['logger'] {
    return this.#frame.run.logger
  }

  get path(): readonly string[] {
    return this.#frame.run.path
  }

  get decision(): Context['decision'] {
    return this.#frame.pass.decision ?? this.#frame.pass.stop
  }

  get<T>(key: StateKey<T>): T {
    return this.#frame.run.state.get(key)
  }

  set<T>(key: StateKey<T>, value: T): void {
    if (!this.#frame.closed) this.#frame.run.state.set(key, value)
  }

  update<T>(key: StateKey<T>, reducer: (value: T) => T): T {
    return this.#frame.closed ? this.get(key) : this.#frame.run.state.update(key, reducer)
  }

  emit(name: string, data: unknown = null): void {
    const { run, pass, layer, closed } = this.#frame
    if (!closed) run.emitCustom(name, data, pass, layer)
  }

  callModel(request: HelperRequest): Promise<LLMStep> {
    const { run, pass, layer, closed } = this.#frame
    if (closed) return observed(Promise.reject(this.#frame.contractError('callModel was called after the layer had settled')))
    return observed(run.callModel(request, pass, layer))
  }

  sanitize(value: Json): Json {
    return this.#frame.run.sanitizer?.value(value) ?? value
  }
}

/** The class of what layers hold at one point. */
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
      return pass.fields[field] ?? (field === 'signal' ? pass.scope.signal : undefined)
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
