import { scripted } from '@koagent/core/scripted'
import { describe, expect, test } from 'vitest'
import type { Model } from '@koagent/core'
import { fakeProvider } from '../fake/fake.ts'
import type { FakeProvider } from '../fake/fake.ts'
import { modelConformance } from './conformance.ts'
import type { ModelConformanceOptions, Start } from './conformance.ts'
import { soundModel } from './testing/sound.ts'
import { adapters } from '../testing/adapters.ts'

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
  ...adapters.map(({ name, modelAt, signs }): Row => ({ name, start: over(modelAt), ...(!signs && { skip: unsigned }) })),
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
