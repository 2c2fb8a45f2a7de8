import type { Model } from '@koagent/core'
import { anthropic } from '@koagent/models/anthropic'
import { demoModel } from '@koagent/models/demo'
import { serveModel } from '@koagent/models/demo/serve'
import { openai } from '@koagent/models/openai'
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
 * The provider that the environment has a key for or names by OPENAI_MODEL, OPENAI_BASE_URL, ANTHROPIC_MODEL or ANTHROPIC_BASE_URL. Otherwise the demo
 * model, which needs no key and no weights: it is served on the loopback address and spoken to as any provider is.
 *
 * @param delayMs the demo model's pause before each piece of its answer
 */
export async function connect(environment: Environment, delayMs: number): Promise<Connection> {
  const model = real(environment)
  if (model) return { model, about: `${model.id} at ${model.provider}`, close: async () => {} }
  const demo = demoModel({ delayMs })
  const served = await serveModel(demo)
  return {
    model: openaiCompatible({ baseURL: served.baseURL, model: demo.id }),
    about: `${demo.id}, rules in place of a language model, at ${served.baseURL}`,
    close: () => served.close(),
  }
}

/** Where both are there, what names a model or a server counts before what is only a key. */
function real(environment: Environment): Model | undefined {
  const { OPENAI_MODEL, OPENAI_BASE_URL, OPENAI_API_KEY, ANTHROPIC_MODEL, ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY } = environment
  if (OPENAI_MODEL || OPENAI_BASE_URL) return openaiModel(environment)
  if (ANTHROPIC_MODEL || ANTHROPIC_BASE_URL || ANTHROPIC_API_KEY) return anthropicModel(environment)
  return OPENAI_API_KEY ? openaiModel(environment) : undefined
}

function openaiModel({ OPENAI_MODEL: model, OPENAI_BASE_URL: baseURL, OPENAI_API_KEY: apiKey }: Environment): Model {
  const options = { model: model || 'gpt-5-mini', ...(apiKey && { apiKey }) }
  return baseURL ? openaiCompatible({ ...options, baseURL }) : openai(options)
}

function anthropicModel({ ANTHROPIC_MODEL: model, ANTHROPIC_BASE_URL: baseURL, ANTHROPIC_API_KEY: apiKey }: Environment): Model {
  return anthropic({ model: model || 'claude-haiku-4-5', cache: '5m', ...(baseURL && { baseURL }), ...(apiKey && { apiKey }) })
}
