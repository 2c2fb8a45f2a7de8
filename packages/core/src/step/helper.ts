import { Unit } from '../chain/layer.ts'
import type { Layer } from '../chain/layer.ts'
import type { Pass } from '../chain/pass.ts'
import type { HelperRequest } from '../ctx.ts'
import { KoagentError } from '../errors.ts'
import type { LLMStep } from '../model.ts'
import type { ActiveRun } from '../run/active-run.ts'
import { Step } from './step.ts'

/**
 * A model call that a middleware makes for itself.
 *
 * @throws KoagentError with code 'helper_denied' when a layer denies or stops it; what the model throws
 */
export async function helperStep(run: ActiveRun, request: HelperRequest, pass: Pass, layer: Layer, n: number): Promise<LLMStep> {
  const unit = new Unit(`help:${pass.unit.op}:${layer.name}:${n}`, pass.unit.turn)
  unit.scope = pass.scope
  run.check(unit)
  const { model } = run
  // Layers that are asking already stay out, or they would ask for ever.
  const excluded = new Set([...(pass.excluded ?? []), layer])
  const outcome = await new Step(run, unit, { model, tools: [], ...request }, excluded).take()
  if ('denied' in outcome) {
    throw new KoagentError(
      'helper_denied',
      `middleware '${layer.name}' at ${pass.name}: its model call was denied: ${outcome.denied}`,
      { runId: run.runId },
    )
  }
  run.emitCustom('model_call', { op: unit.op, usage: outcome.step.usage, finishReason: outcome.step.finishReason }, pass, layer)
  return outcome.step
}
