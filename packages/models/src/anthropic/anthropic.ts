import { ConfigError } from '@koagent/core'
import type { Model } from '@koagent/core'
import Anthropic from '@anthropic-ai/sdk'
import { keepRefusals, rootOf } from '../model-error/failure.ts'
import type { WithSettings } from '../settings.ts'
import { anthropicHost, messagesModel } from './model.ts'
import type { AnthropicClient } from './model.ts'

export type { AnthropicClient } from './model.ts'

/** Options of {@link anthropic}: a client of the SDK's, or what one is made with. */
export type AnthropicOptions = {
  /** The model's name where it is served, such as 'claude-sonnet-4-5'. */
  readonly model: string
  /** Marks the prompt to be kept for that long between requests. Default: only what parts mark with `cache: true` is, for 5 minutes. */
  readonly cache?: '5m' | '1h'
  /** Who serves it. Default: 'anthropic' for Anthropic, Bedrock and Vertex, else the host. Thinking goes back only to the provider of the same name. */
  readonly provider?: string
} & WithSettings &
  (GivenClient | OwnClient)

interface GivenClient {
  /** Sends the requests: an `Anthropic`, `AnthropicBedrock`, `AnthropicVertex`, or what looks like one. Its own retries are not used. */
  readonly client: AnthropicClient
  readonly apiKey?: never
  readonly baseURL?: never
  readonly headers?: never
  readonly fetch?: never
}

interface OwnClient {
  readonly client?: never
  /** Or a function that is asked before each call. Default: the environment's ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN; none for another server's `baseURL`. */
  readonly apiKey?: string | (() => Promise<string>)
  /** Where the API is, without its version. Default: the environment's ANTHROPIC_BASE_URL, else 'https://api.anthropic.com'. */
  readonly baseURL?: string
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sends the requests: for a proxy, a recorder, a test. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
}

/**
 * A Claude model, or another one behind Anthropic's messages API, streamed through the official SDK.
 *
 * Contract: that of `Model`. What the model thought, and what the provider's own tools did, goes back block by block as it came. Each request
 * is sent once; retries are the run's business. It throws a `ConfigError` at once for a bad `baseURL` or a missing key, and later only
 * `ModelError`s and the signal's reason. After a call no listener stays on the signal.
 *
 * @example
 * const model = anthropic({ model: 'claude-sonnet-4-5', cache: '5m' })
 */
export function anthropic(options: AnthropicOptions): Model {
  return messagesModel(options.client ?? clientOf(options), options)
}

function clientOf({ baseURL, apiKey, headers, fetch = globalThis.fetch }: OwnClient): Anthropic {
  if (baseURL !== undefined && !URL.canParse(baseURL)) {
    throw new ConfigError(`anthropic: baseURL '${baseURL}' is no URL; give it whole, such as 'https://${anthropicHost}'`)
  }
  // The SDK would send the credentials of the environment, which are Anthropic's, to any server.
  const foreign = baseURL !== undefined && new URL(baseURL).host !== anthropicHost
  const client = made({
    ...(baseURL !== undefined && { baseURL }),
    ...(foreign && { apiKey: 'none' }),
    ...(apiKey !== undefined && { apiKey }),
    defaultHeaders: {
      ...(foreign && { 'X-Api-Key': null }),
      ...(foreign && apiKey === undefined && { Authorization: null }),
      ...headers,
    },
    fetch: keepRefusals(fetch),
    maxRetries: 0,
    // It would print what a server sent; all of it is in the errors.
    logLevel: 'off',
  })
  if (apiKey === undefined && client.apiKey === null && client.authToken === null) {
    throw new ConfigError(
      'anthropic: there is no key; set ANTHROPIC_API_KEY, or give an apiKey, or a client that finds its credentials by itself',
    )
  }
  return client
}

function made(options: ConstructorParameters<typeof Anthropic>[0]): Anthropic {
  try {
    return new Anthropic(options)
  } catch (error) {
    throw new ConfigError(`anthropic: ${rootOf(error)}`, { cause: error })
  }
}
