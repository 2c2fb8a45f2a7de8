import { ModelError } from '@koagent/core'
import type { Model, ModelPart } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import type { ConformanceStep, ConformanceSubject } from '../conformance.ts'

/** A model without a server that keeps every rule, to be broken in one way at a time. */
export function soundModel(steps: readonly ConformanceStep[]): ConformanceSubject & { readonly model: Model } {
  const received: string[] = []
  const script = scripted(steps)
  return {
    received: () => received,
    model: {
      provider: script.provider,
      id: script.id,
      async *stream(request, { signal }): AsyncGenerator<ModelPart> {
        signal.throwIfAborted()
        const end = steps[received.push(JSON.stringify(request)) - 1]?.end
        for await (const part of script.stream(request, { signal })) {
          signal.throwIfAborted()
          if (end === undefined || part.type !== 'finish') yield part
        }
        if (end === 'hang') await abortOf(signal)
        if (end !== undefined) throw new ModelError('cut off', { code: 'model_stream_cut', retryable: true })
      },
    },
  }
}

async function abortOf(signal: AbortSignal): Promise<void> {
  await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }))
}
