import type { ModelRequest, ModelSettings } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { withDefaults } from './settings.ts'
import { adapters } from './testing/adapters.ts'
import { serve } from './testing/serve.ts'
import { hello, partsOf } from './testing/wire.ts'

const defaults: ModelSettings = { temperature: 0, maxOutputTokens: 9, extra: { a: 1, b: 1 } }

describe("a model's settings", () => {
  test.for<[settings: ModelRequest['settings'], expected: ModelSettings]>([
    [undefined, defaults],
    [{}, defaults],
    [{ temperature: 1 }, { ...defaults, temperature: 1 }],
    [{ extra: { b: 2, c: 2 } }, { ...defaults, extra: { a: 1, b: 2, c: 2 } }],
  ])('fill in what a request with %j leaves out', ([settings, expected]) => {
    const request = settings ? { ...hello, settings } : hello
    expect(withDefaults(Object.freeze(request), defaults)).toStrictEqual({ ...hello, settings: expected })
  })

  test('change nothing where there are none', () => {
    expect(withDefaults(hello, undefined)).toBe(hello)
    expect(withDefaults(hello, { seed: 1 })).toStrictEqual({ ...hello, settings: { seed: 1 } })
  })

  const own = { name: 'add', description: 'Adds.', inputSchema: { type: 'object' } }
  test.for(adapters.filter(({ name }) => !name.startsWith('fromAISDK')))(
    "bring the provider's own tools beside the agent's over $name",
    async ({ modelAt }) => {
      const provider = await serve({ text: 'hi' }, { text: 'hi' })
      const search = { type: 'web_search' }
      const model = modelAt(provider, { settings: { extra: { tools: [search] } } })
      await partsOf(model, { ...hello, tools: [own] })
      await partsOf(model, hello)
      const [both, alone] = provider.requests.map(({ body }) => body['tools'])
      expect(both).toEqual([expect.anything(), search])
      expect(JSON.stringify(both)).toContain('"name":"add"')
      expect(alone).toEqual([search])
    },
  )

  test.for(adapters)('reach the provider over $name', async ({ modelAt }) => {
    const provider = await serve({ text: 'hi' })
    await partsOf(modelAt(provider, { settings: { temperature: 0.25 } }))
    expect(provider.requests[0]?.body).toMatchObject({ temperature: 0.25 })
  })
})
