import { scripted } from '@koagent/core/scripted'
import { describe, expect, test } from 'vitest'
import { createOpenAICompatible as aiSdkV2 } from 'ai-sdk-v2'
import { createOpenAICompatible as aiSdkV3 } from 'ai-sdk-v3'
import { createOpenAICompatible as aiSdkV4 } from 'ai-sdk-v4'
import type { Model } from '@koagent/core'
import { fromAISDK } from '../ai-sdk/ai-sdk.ts'
import { anthropic } from '../anthropic/anthropic.ts'
import { fakeProvider } from '../fake/fake.ts'
import type { FakeProvider } from '../fake/fake.ts'
import { openaiCompatible } from '../openai-compatible/openai-compatible.ts'
import { openai } from '../openai/openai.ts'
import { modelConformance } from './conformance.ts'
import type { ModelConformanceOptions, Start } from './conformance.ts'
import { soundModel } from './testing/sound.ts'

interface Row {
  readonly name: string
  readonly start: Start
  readonly skip?: NonNullable<ModelConformanceOptions['skip']>
}

/** A model on a fake provider. */
function over(modelAt: (provider: FakeProvider) => Model): Start {
  return async (steps) => {
    const provider = await fakeProvider(steps)
    return {
      model: modelAt(provider),
      close: provider.close,
      received: () => provider.requests.map(({ body }) => JSON.stringify(body)),
    }
  }
}

const unsigned = { 'opaque data of reasoning goes back': 'chat completions have none' }

const rows: readonly Row[] = [
  { name: 'a sound model', start: soundModel },
  {
    name: 'scripted',
    start: (steps) => {
      const model = scripted(steps)
      return { model, received: () => model.calls.map((request) => JSON.stringify(request)) }
    },
    skip: {
      'an abort before the start sends nothing': 'it looks at the signal only while it waits',
      'an abort in mid-stream': 'it cannot stay open',
      'an abort between two parts': 'it looks at the signal only while it waits',
      'a stream that is cut off is a ModelError': 'it plays such a stream as it is',
    },
  },
  {
    name: 'openaiCompatible',
    start: over(({ baseURL }) => openaiCompatible({ model: 'm', baseURL })),
    skip: unsigned,
  },
  { name: 'openai, Responses', start: over(({ baseURL }) => openai({ model: 'm', baseURL, apiKey: 'none' })) },
  {
    name: 'openai, chat completions',
    start: over(({ baseURL }) => openai({ model: 'm', baseURL, apiKey: 'none', api: 'chat' })),
    skip: unsigned,
  },
  { name: 'anthropic', start: over(({ url }) => anthropic({ model: 'm', baseURL: url, apiKey: 'none' })) },
  ...Object.entries({ v2: aiSdkV2, v3: aiSdkV3, v4: aiSdkV4 }).map(([version, create]): Row => ({
    name: `fromAISDK, ${version}`,
    start: over(({ baseURL }) => fromAISDK(create({ baseURL, name: 'acme', includeUsage: true })('m'))),
    skip: unsigned,
  })),
]

describe.for(rows)('$name', ({ start, skip = {} }) => {
  test.for(modelConformance(start, { skip }))('$name', async ({ check, skipped }, { skip }) => {
    skip(skipped)
    await expect(check()).resolves.toBeUndefined()
  })
})

test('a rule that is skipped says why, and asks for no model', async () => {
  const start: Start = () => {
    throw new Error('asked for a model')
  }
  const suite = modelConformance(start, { skip: { 'finish reasons': 'the server gives none' } })
  const skipped = suite.filter((one) => one.skipped)
  expect(skipped.map(({ name }) => name)).toEqual(['finish reasons (skipped: the server gives none)'])
  await skipped[0]?.check()
  await expect(suite[0]?.check()).rejects.toThrow('asked for a model')
})
