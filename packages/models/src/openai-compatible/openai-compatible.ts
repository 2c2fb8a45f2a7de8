import { ConfigError } from '@koagent/core'
import type { Model } from '@koagent/core'
import OpenAI from 'openai'
import { keepRefusals, rootOf } from '../model-error/failure.ts'
import { chatModel, openaiHost } from './chat.ts'

/** Options of {@link openaiCompatible}. */
export interface OpenAICompatibleOptions {
  /** The model's name at the server, such as 'gpt-5.2'. */
  readonly model: string
  /** Where the API is, with its version. Default: the environment's OPENAI_BASE_URL, else 'https://api.openai.com/v1'. */
  readonly baseURL?: string
  /** Or a function that is asked before each call. Default: the environment's OPENAI_API_KEY; none for another server's `baseURL`. */
  readonly apiKey?: string | (() => Promise<string>)
  /** Who serves it. Default: 'openai', or the host of `baseURL`. Reasoning goes back only to the provider of the same name. */
  readonly provider?: string
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sends the requests: for a proxy, a recorder, a test. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
}

/**
 * A model behind any server that speaks OpenAI's chat completions, streamed through the official SDK.
 *
 * Contract: that of `Model`. It sends each request once; retries are the run's business. It throws a `ConfigError` at once for a bad
 * `baseURL` or a missing key, and later only `ModelError`s and the signal's reason. After a call no listener stays on the signal.
 *
 * @example
 * const model = openaiCompatible({ baseURL: 'http://localhost:11434/v1', model: 'qwen3:8b' })
 */
export function openaiCompatible(options: OpenAICompatibleOptions): Model {
  return chatModel(clientOf(options), options)
}

function clientOf({ baseURL, apiKey, headers, fetch = globalThis.fetch }: OpenAICompatibleOptions): OpenAI {
  if (baseURL !== undefined && !URL.canParse(baseURL)) {
    throw new ConfigError(`openaiCompatible: baseURL '${baseURL}' is no URL; give it whole, such as 'https://${openaiHost}/v1'`)
  }
  // The SDK would send the key and the organisation of the environment, which are OpenAI's, to any server.
  const foreign = baseURL !== undefined && new URL(baseURL).host !== openaiHost
  try {
    return new OpenAI({
      ...(baseURL !== undefined && { baseURL }),
      ...(foreign && { apiKey: 'none', organization: null, project: null }),
      ...(apiKey !== undefined && { apiKey }),
      defaultHeaders: { ...(foreign && apiKey === undefined && { Authorization: null }), ...headers },
      fetch: keepRefusals(fetch),
      maxRetries: 0,
      // It would print what a server sent; all of it is in the errors.
      logLevel: 'off',
    })
  } catch (error) {
    throw new ConfigError(`openaiCompatible: ${rootOf(error)}`, { cause: error })
  }
}
