import { ConfigError } from '@koagent/core'
import OpenAI from 'openai'
import { keepRefusals, rootOf } from '../model-error/failure.ts'

export const openaiHost = 'api.openai.com'

/** How a server is reached. */
export interface ClientOptions {
  /** Where the API is, with its version. Default: the environment's OPENAI_BASE_URL, else 'https://api.openai.com/v1'. */
  readonly baseURL?: string
  /** Or a function that is asked before each call. Default: the environment's OPENAI_API_KEY; none for another server's `baseURL`. */
  readonly apiKey?: string | (() => Promise<string>)
  /** Sent with every request. */
  readonly headers?: Readonly<Record<string, string>>
  /** Sends the requests: for a proxy, a recorder, a test. Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch
}

/** @throws ConfigError, in the name of `caller`, for a bad `baseURL` or a missing key */
export function clientOf({ baseURL, apiKey, headers, fetch = globalThis.fetch }: ClientOptions, caller: string): OpenAI {
  if (baseURL !== undefined && !URL.canParse(baseURL)) {
    throw new ConfigError(`${caller}: baseURL '${baseURL}' is no URL; give it whole, such as 'https://${openaiHost}/v1'`)
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
    throw new ConfigError(`${caller}: ${rootOf(error)}`, { cause: error })
  }
}

/** Who serves what this client reaches: 'openai', or the host. */
export function providerOf({ baseURL }: OpenAI): string {
  const { host } = new URL(baseURL)
  return host === openaiHost ? 'openai' : host
}
