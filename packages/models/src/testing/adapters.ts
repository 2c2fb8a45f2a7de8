import { createAnthropic } from '@ai-sdk/anthropic'
import type { Model } from '@koagent/core'
import { createOpenAICompatible as aiSdkV2 } from 'ai-sdk-v2'
import { createOpenAICompatible as aiSdkV3 } from 'ai-sdk-v3'
import { createOpenAICompatible as aiSdkV4 } from 'ai-sdk-v4'
import { fromAISDK } from '../ai-sdk/ai-sdk.ts'
import { anthropic } from '../anthropic/anthropic.ts'
import type { FakeProvider } from '../fake/fake.ts'
import { openaiCompatible } from '../openai-compatible/openai-compatible.ts'
import { openai } from '../openai/openai.ts'
import type { WithSettings } from '../settings.ts'

/** A way to a provider: the model of each adapter, spoken to as its users do, on a fake provider. */
export interface Adapter {
  readonly name: string
  readonly modelAt: (provider: FakeProvider, more?: WithSettings) => Model
  /** Has the reasoning of its protocol opaque data, which is to go back? */
  readonly signs: boolean
}

export const adapters: readonly Adapter[] = [
  {
    name: 'openai, Responses',
    modelAt: ({ baseURL }, more) => openai({ model: 'm', baseURL, apiKey: 'none', ...more }),
    signs: true,
  },
  {
    name: 'openai, chat completions',
    modelAt: ({ baseURL }, more) => openai({ model: 'm', baseURL, apiKey: 'none', api: 'chat', ...more }),
    signs: false,
  },
  { name: 'openaiCompatible', modelAt: ({ baseURL }, more) => openaiCompatible({ model: 'm', baseURL, ...more }), signs: false },
  {
    name: 'anthropic',
    modelAt: ({ url }, more) => anthropic({ model: 'm', baseURL: url, apiKey: 'none', ...more }),
    signs: true,
  },
  ...Object.entries({ v2: aiSdkV2, v3: aiSdkV3, v4: aiSdkV4 }).map(([version, create]): Adapter => ({
    name: `fromAISDK, ${version}`,
    modelAt: ({ baseURL }, more) => fromAISDK(create({ baseURL, name: 'acme', includeUsage: true })('m'), more),
    signs: false,
  })),
  {
    name: 'fromAISDK, Anthropic',
    modelAt: ({ baseURL }, more) => fromAISDK(createAnthropic({ baseURL, apiKey: 'none' })('m'), more),
    signs: true,
  },
]
