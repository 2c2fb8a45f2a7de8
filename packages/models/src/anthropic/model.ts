import { ConfigError } from '@koagent/core'
import type { Model } from '@koagent/core'
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import { callParts } from '../call/call.ts'
import { failures } from '../model-error/failure.ts'
import { messageReader } from './answer.ts'
import type { CacheTime } from './cache.ts'
import { messagesRequest } from './request.ts'

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

/** A model that is spoken to by Anthropic's messages API, through this client. */
export function messagesModel(
  client: AnthropicClient,
  { model, provider: named, cache }: { readonly model: string; readonly provider?: string; readonly cache?: CacheTime },
): Model {
  const provider = named ?? providerAt(client.baseURL)
  const failed = failures(provider, model)
  const versioned = !/\.(amazonaws\.com|googleapis\.com)$/.test(new URL(client.baseURL).host)
  return {
    provider,
    id: model,
    stream: (request, { signal }) =>
      callParts({
        send: (callSignal) => {
          const body = messagesRequest(request, { model, provider, cache })
          const headers = versioned && samples(body) ? { headers: { 'anthropic-version': '2023-06-01' } } : {}
          return client.messages.create(body, { signal: callSignal, maxRetries: 0, ...headers }).asResponse()
        },
        reader: (headers) => messageReader((what) => failed.garbage(what, headers)),
        failed,
        signal,
      }),
  }
}

/**
 * Does it say how tokens are to be picked? API version 2026-10-21, which the SDK asks for, refuses that whatever the model; the one before leaves it to
 * the model (https://platform.claude.com/docs/en/api/migration-2026-10-21). Bedrock and Vertex have version names of their own.
 */
function samples(body: object): boolean {
  return Object.entries(body).some(([field, value]) => /^(temperature|top_[pk])$/.test(field) && value !== undefined)
}

/** Signatures of thinking are valid on every platform that Anthropic's own models are served on, so all of them are one provider. */
function providerAt(baseURL: string): string {
  if (!URL.canParse(baseURL)) throw new ConfigError(`anthropic: the client's baseURL '${baseURL}' is no URL`)
  const { host } = new URL(baseURL)
  return host === anthropicHost || /\.(amazonaws\.com|googleapis\.com|api\.aws)$/.test(host) ? 'anthropic' : host
}
