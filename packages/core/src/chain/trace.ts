import type { Decision } from '../decision.ts'
import type { Change } from '../event/event.ts'
import { sameJson } from '../freeze.ts'
import { toJson } from '../tool/serialise.ts'
import type { Layer } from './layer.ts'
import type { Pass } from './pass.ts'

/**
 * What one layer changed and decided: compared between its entry and its `next()`, and between that call's settling and its exit, so that nobody
 * is blamed for a layer further in.
 */
export class Trace {
  readonly #pass: Pass
  readonly #layer: Layer
  readonly #changes: Change[] = []
  #before: Readonly<Record<string, unknown>>
  #decided: Decision | undefined
  #inner: unknown
  #since: number
  #spentMs = 0

  constructor(pass: Pass, layer: Layer) {
    this.#pass = pass
    this.#layer = layer
    this.#before = this.#look()
    this.#since = pass.run.runtime.now()
  }

  #look(): Readonly<Record<string, unknown>> {
    const { point, fields } = this.#pass
    return Object.fromEntries(point.write.filter((field) => field !== 'signal').map((field) => [field, fields[field]]))
  }

  #compare(): void {
    const now = this.#look()
    for (const [field, before] of Object.entries(this.#before)) this.#note(field, before, now[field])
    this.#spentMs += this.#pass.run.runtime.now() - this.#since
  }

  #note(field: string, before: unknown, after: unknown): void {
    if (before === after) return
    const [from, to] = [facts(before), facts(after)]
    if (!sameJson(from, to)) this.#changes.push({ field, before: from, after: to })
  }

  inward(): void {
    this.#compare()
  }

  outward(outcome: unknown): void {
    this.#before = this.#look()
    this.#inner = outcome
    this.#since = this.#pass.run.runtime.now()
  }

  decide(decision: Decision): void {
    this.#decided = decision
  }

  leave(value: unknown, settledInward: boolean): void {
    this.#compare()
    const decided = this.#decided
    const { point, name, run } = this.#pass
    if (point.kind === 'around' && value !== undefined) this.#note('value', settledInward ? undefined : this.#inner, value)
    if (this.#changes.length === 0 && !decided) return
    run.emitApplied(
      {
        middleware: this.#layer.name,
        point: name,
        changes: this.#changes,
        ...(decided ? { decision: decided.kind } : {}),
        ...(decided && 'reason' in decided && decided.reason !== undefined ? { reason: decided.reason } : {}),
        durationMs: this.#spentMs,
      },
      this.#pass,
    )
  }
}

/** A request is told without its model and its tools' code. */
function facts(value: unknown): ReturnType<typeof toJson> {
  if (typeof value === 'object' && value !== null && 'model' in value && 'tools' in value && Array.isArray(value.tools)) {
    const { model, tools, ...rest } = value as { model: { id: string }; tools: { name: string }[] }
    return toJson({ ...rest, model: model.id, tools: tools.map((tool) => tool.name) })
  }
  return toJson(value ?? null)
}
