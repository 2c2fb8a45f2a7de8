import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible as createV2 } from 'ai-sdk-v2'
import { createOpenAICompatible as createV3 } from 'ai-sdk-v3'
import { createOpenAICompatible as createV4 } from 'ai-sdk-v4'
import { describe, expect, test } from 'vitest'
import { modelConformance } from '../conformance/conformance.ts'
import { fakeProvider } from '../fake/fake.ts'
import { fromAISDK } from './ai-sdk.ts'
import type { AISDKModel } from './ai-sdk.ts'

const compatible = (baseURL: string) => ({ name: 'acme', baseURL, includeUsage: true })
const chat = { skip: { 'opaque data of reasoning goes back': '@ai-sdk/openai-compatible keeps none' } }

describe.for<readonly [string, (baseURL: string) => AISDKModel, object?]>([
  ['@ai-sdk/openai-compatible of v2', (baseURL) => createV2(compatible(baseURL))('m'), chat],
  ['@ai-sdk/openai-compatible of v3', (baseURL) => createV3(compatible(baseURL))('m'), chat],
  ['@ai-sdk/openai-compatible of v4', (baseURL) => createV4(compatible(baseURL))('m'), chat],
  ['@ai-sdk/anthropic', (baseURL) => createAnthropic({ apiKey: 'k', baseURL })('m')],
])('%s keeps the contract of a model', ([, make, options]) => {
  const suite = modelConformance(async (steps) => {
    const { baseURL, requests, close } = await fakeProvider(steps)
    return { model: fromAISDK(make(baseURL)), close, received: () => requests.map(({ body }) => JSON.stringify(body)) }
  }, options)
  test.for(suite)('$name', async ({ check, skipped }, { skip }) => {
    skip(skipped)
    await expect(check()).resolves.toBeUndefined()
  })
})
