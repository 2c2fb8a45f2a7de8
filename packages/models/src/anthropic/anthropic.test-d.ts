import type Anthropic from '@anthropic-ai/sdk'
import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import type { Model } from '@koagent/core'
import { describe, expectTypeOf, test } from 'vitest'
import { anthropic } from '@koagent/models/anthropic'
import type { AnthropicClient } from '@koagent/models/anthropic'

const model = 'claude-sonnet-4-5'
declare const client: Anthropic

describe('options', () => {
  test('are those of a client to make', () => {
    expectTypeOf(anthropic({ model })).toEqualTypeOf<Model>()
    anthropic({ model, cache: '5m', provider: 'acme', apiKey: 'k', baseURL: 'https://acme.test', headers: { a: 'b' }, fetch })
    anthropic({ model, cache: '1h', apiKey: () => Promise.resolve('k') })
    // @ts-expect-error a model has a name
    anthropic({})
    // @ts-expect-error there are two times
    anthropic({ model, cache: '1d' })
  })

  test('or a client, and not both', () => {
    anthropic({ model, client, cache: '5m', provider: 'acme' })
    // @ts-expect-error the client has its key
    anthropic({ model, client, apiKey: 'k' })
    // @ts-expect-error the client knows where to send
    anthropic({ model, client, baseURL: 'https://acme.test' })
    // @ts-expect-error the client has its headers
    anthropic({ model, client, headers: {} })
    // @ts-expect-error the client has its fetch
    anthropic({ model, client, fetch })
  })
})

describe('a client', () => {
  test("is one of the SDK's", () => {
    expectTypeOf<Anthropic>().toExtend<AnthropicClient>()
  })

  test('or what looks like one, as those for other platforms do', () => {
    interface Platform {
      readonly baseURL: string
      readonly messages: Omit<Anthropic['messages'], 'batches' | 'countTokens'>
    }
    expectTypeOf<Platform>().toExtend<AnthropicClient>()
    interface Small {
      baseURL: string
      messages: { create(body: MessageCreateParamsStreaming): { asResponse(): Promise<Response> } }
    }
    expectTypeOf<Small>().toExtend<AnthropicClient>()
    expectTypeOf<{ baseURL: string }>().not.toExtend<AnthropicClient>()
  })
})
