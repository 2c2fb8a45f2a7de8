import { ConfigError } from '@koagent/core'
import type { Model } from '@koagent/core'
import type OpenAI from 'openai'
import { chatModel } from '../openai-compatible/chat.ts'
import { clientOf } from '../openai-compatible/client.ts'
import type { ClientOptions } from '../openai-compatible/client.ts'
import type { WithSettings } from '../settings.ts'
import { responsesModel } from './responses.ts'

/** Options of {@link openai}: how the API is reached is said by a `client`, or by the other options. */
export type OpenAIOptions = OpenAIModelOptions & (GivenClient | OwnClient)

interface OpenAIModelOptions extends WithSettings {
  /** The model's name, such as 'gpt-5.2', or the name of an Azure deployment. */
  readonly model: string
  /** Which of the two APIs. Default: 'responses'. `settings.stop` needs 'chat'. */
  readonly api?: 'responses' | 'chat'
  /** Who serves it. Default: 'openai', or the host of the API. Reasoning goes back only to the provider of the same name. */
  readonly provider?: string
}

interface GivenClient extends Readonly<Partial<Record<keyof ClientOptions, never>>> {
  /** Any client of the official SDK, such as an `AzureOpenAI`. Its own retries are not used. */
  readonly client: OpenAI
}

interface OwnClient extends ClientOptions {
  readonly client?: never
}

/**
 * A model of OpenAI, through the official SDK. Nothing is stored at OpenAI: encrypted reasoning is kept in the session and sent back.
 *
 * Contract: that of `Model`. It sends each request once; retries are the run's business. It throws a `ConfigError` at once for a bad
 * `baseURL` or a missing key, and later only `ModelError`s and the signal's reason. After a call no listener stays on the signal.
 *
 * @example
 * const model = openai({ model: 'gpt-5.2' })
 */
export function openai(options: OpenAIOptions): Model {
  const { api = 'responses' } = options
  const client = options.client ?? clientOf(options, 'openai')
  if (api === 'responses') return responsesModel(client, options)
  if (api === 'chat') return chatModel(client, options)
  throw new ConfigError(`openai: there is no api '${String(api)}'; give 'responses' or 'chat'`)
}
