import { scripted } from '@koagent/core/scripted'
import type { ScriptedStep } from '@koagent/core/scripted'
import type { Model, ModelPart, ModelRequest } from '@koagent/core'
import { partsOf } from '../../testing/wire.ts'
import type { CassetteStore } from '../cassette.ts'

/** A scripted model by another name. */
export function named(provider: string, id: string, steps: readonly ScriptedStep[]): Model {
  const model = scripted(steps)
  return { provider, id, stream: (request, options) => model.stream(request, options) }
}

/** A model that answers every request with these parts. */
export function giving(parts: readonly ModelPart[]): Model {
  return named(
    'acme',
    'm1',
    Array.from({ length: 9 }, () => ({ parts })),
  )
}

export function asking(text: string): ModelRequest {
  return { messages: [{ role: 'user', content: [{ type: 'text', text }] }], tools: [] }
}

/** The text that a model answers. */
export async function say(model: Model, text: string): Promise<string> {
  const parts = await partsOf(model, asking(text))
  return parts.map((part) => (part.type === 'text_delta' ? part.text : '')).join('')
}

export async function thrownBy(doing: Promise<unknown>): Promise<unknown> {
  return doing.then(
    () => undefined,
    (error: unknown) => error,
  )
}

/** All that is kept. */
export function written(store: CassetteStore): string {
  return store.lines().join('\n')
}
