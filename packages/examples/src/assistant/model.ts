import type { Model } from '@koagent/core'
import { demoModel } from '@koagent/models/demo'
import { serveModel } from '@koagent/models/demo/serve'
import { openaiCompatible } from '@koagent/models/openai-compatible'

/** A model to talk to, until `close`. */
export interface Connection {
  readonly model: Model
  /** What it is and where, for people. */
  readonly about: string
  close(): Promise<void>
}

export type Environment = Readonly<Record<string, string | undefined>>

/**
 * The provider that the environment names by OPENAI_MODEL or OPENAI_BASE_URL. Otherwise the demo model, which needs no key and no weights: it is
 * served on the loopback address and spoken to as any provider is. A key alone sends nothing anywhere.
 *
 * @param delayMs the demo model's pause before each piece of its answer
 */
export async function connect(environment: Environment, delayMs: number): Promise<Connection> {
  const { OPENAI_MODEL: name, OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey } = environment
  if (name || baseURL) {
    const model = openaiCompatible({ model: name || 'gpt-5-mini', ...(baseURL && { baseURL }), ...(apiKey && { apiKey }) })
    return { model, about: `${model.id} at ${model.provider}`, close: async () => {} }
  }
  const demo = demoModel({ delayMs })
  const served = await serveModel(demo)
  const model = openaiCompatible({ baseURL: served.baseURL, model: demo.id })
  return { model, about: `${demo.id}, rules in place of a language model, at ${served.baseURL}`, close: () => served.close() }
}
