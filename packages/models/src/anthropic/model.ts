import { ConfigError } from '@koagent/core'
import type { Model } from '@koagent/core'
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import { callParts } from '../call/call.ts'
import { failures } from '../model-error/failure.ts'
import { withDefaults } from '../settings.ts'
import type { WithSettings } from '../settings.ts'
import { messageReader } from './answer.ts'
import type { CacheTime } from './cache.ts'
import { messagesRequest } from './request.ts'
import { versioned } from './version.ts'

export const anthropicHost = 'api.anthropic.com'

/** What is asked of a client of the SDK's. */
export interface AnthropicClient {
  readonly baseURL: string
  readonly messages: {
    create(
      body: MessageCreateParamsStreaming,
      options: { readonly signal: AbortSignal; readonly maxRetries: number; readonly headers?: Record<string, string> },
    ): { asResponse(): Promise<Response> }
  }
}

interface MessagesModelOptions extends WithSettings {
  readonly model: string
  readonly provider?: string
  readonly cache?: CacheTime
}

/** A model that is spoken to by Anthropic's messages API, through this client. */
export function messagesModel(client: AnthropicClient, { model, provider: named, cache, settings }: MessagesModelOptions): Model {
  if (!URL.canParse(client.baseURL)) throw new ConfigError(`anthropic: the client's baseURL '${client.baseURL}' is no URL`)
  const { host } = new URL(client.baseURL)
  const provider = named ?? providerAt(host)
  const failed = failures(provider, model)
  return {
    provider,
    id: model,
    stream: (request, { signal }) =>
      callParts({
        send: (callSignal) => {
          const { body, ...headers } = versioned(
            messagesRequest(withDefaults(request, settings), { model, provider, cache }),
            host,
          )
          return client.messages.create(body, { signal: callSignal, maxRetries: 0, ...headers }).asResponse()
        },
        reader: (headers) => messageReader((what) => failed.garbage(what, headers)),
        failed,
        signal,
      }),
  }
}

/** Signatures of thinking are valid on every platform that Anthropic's own models are served on, so all of them are one provider. */
function providerAt(host: string): string {
  return host === anthropicHost || /\.(amazonaws\.com|googleapis\.com|api\.aws)$/.test(host) ? 'anthropic' : host
}
