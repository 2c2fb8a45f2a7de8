import type { Model } from '@koagent/core'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAICompatible as createV2 } from 'ai-sdk-v2'
import { createOpenAICompatible as createV3 } from 'ai-sdk-v3'
import { createOpenAICompatible as createV4 } from 'ai-sdk-v4'
import { expectTypeOf, test } from 'vitest'
import { fromAISDK } from './ai-sdk.ts'

const options = { name: 'acme', baseURL: 'http://model.test/v1' }

test('models of the specifications v2, v3 and v4 are taken as they are', () => {
  expectTypeOf(createV2(options)('m').specificationVersion).toEqualTypeOf<'v2'>()
  expectTypeOf(createV3(options)('m').specificationVersion).toEqualTypeOf<'v3'>()
  expectTypeOf(createV4(options)('m').specificationVersion).toEqualTypeOf<'v4'>()
  expectTypeOf(fromAISDK(createV2(options)('m'))).toEqualTypeOf<Model>()
  expectTypeOf(fromAISDK(createV3(options)('m'))).toEqualTypeOf<Model>()
  expectTypeOf(fromAISDK(createV4(options)('m'))).toEqualTypeOf<Model>()
  expectTypeOf(fromAISDK(createAnthropic()('m'))).toEqualTypeOf<Model>()
})

test('nothing else is', () => {
  // @ts-expect-error: a number
  fromAISDK(7)
  // @ts-expect-error: the id of a gateway's model
  fromAISDK('anthropic/claude-sonnet-4')
  // @ts-expect-error: a provider
  fromAISDK(createAnthropic())
  // @ts-expect-error: an embedding model
  fromAISDK(createV3(options).textEmbeddingModel('m'))
})
