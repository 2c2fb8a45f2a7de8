import type { Model } from '@koagent/core'
import { chatModel } from './chat.ts'
import { clientOf } from './client.ts'
import type { ClientOptions } from './client.ts'
import type { WithSettings } from '../settings.ts'

/** Options of {@link openaiCompatible}. */
export interface OpenAICompatibleOptions extends ClientOptions, WithSettings {
  /** The model's name at the server, such as 'gpt-5.2'. */
  readonly model: string
  /** Who serves it. Default: 'openai', or the host of `baseURL`. Reasoning goes back only to the provider of the same name. */
  readonly provider?: string
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
  return chatModel(clientOf(options, 'openaiCompatible'), options)
}
