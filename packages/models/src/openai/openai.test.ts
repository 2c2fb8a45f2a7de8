import { ConfigError } from '@koagent/core'
import { AzureOpenAI } from 'openai'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { events, partsOf, streamed, wire } from '../testing/wire.ts'
import { openai } from './openai.ts'
import { completed, message, says, stops, textEnd } from './testing/events.ts'

const answer = () => streamed([events([completed([message('hi')])])])

afterEach(() => vi.unstubAllEnvs())

describe('a client of its own', () => {
  test('takes the key of the environment', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'secret')
    const { fetch, sent } = wire(answer)
    const model = openai({ model: 'gpt-5.2', headers: { 'x-team': 'blue' }, fetch })
    expect(await partsOf(model)).toEqual([says('hi'), textEnd(), stops])
    expect(model).toMatchObject({ provider: 'openai', id: 'gpt-5.2' })
    expect(sent[0]?.url).toBe('https://api.openai.com/v1/responses')
    expect(sent[0]?.headers.get('authorization')).toBe('Bearer secret')
    expect(sent[0]?.headers.get('x-team')).toBe('blue')
  })

  test('gives no other server that key', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'secret')
    const { fetch, sent } = wire(answer)
    const model = openai({ model: 'm1', baseURL: 'https://acme.test/v1', fetch })
    await partsOf(model)
    expect(model.provider).toBe('acme.test')
    expect(sent[0]?.url).toBe('https://acme.test/v1/responses')
    expect(sent[0]?.headers.has('authorization')).toBe(false)
  })

  test('that cannot be made is a ConfigError in the name of this function', () => {
    vi.stubEnv('OPENAI_API_KEY', undefined)
    vi.stubEnv('OPENAI_ADMIN_KEY', undefined)
    expect(() => openai({ model: 'm1', baseURL: 'acme.test/v1' })).toThrow(ConfigError)
    expect(() => openai({ model: 'm1', baseURL: 'acme.test/v1' })).toThrow(/^openai: baseURL 'acme.test\/v1' is no URL/)
    expect(() => openai({ model: 'm1' })).toThrow(/^openai: .*OPENAI_API_KEY/s)
  })
})

test("api: 'chat' speaks chat completions", async () => {
  const { fetch, sent } = wire(() => streamed([events([{ choices: [{ delta: { content: 'hi' }, finish_reason: 'stop' }] }])]))
  const model = openai({ model: 'gpt-4.1', api: 'chat', apiKey: 'k', fetch })
  expect(await partsOf(model)).toEqual([says('hi'), { type: 'finish', reason: 'stop', rawReason: 'stop' }])
  expect(sent[0]?.url).toBe('https://api.openai.com/v1/chat/completions')
})

test('another api is a ConfigError', () => {
  expect(() => openai({ model: 'm1', apiKey: 'k', api: 'assistants' as 'chat' })).toThrow(/there is no api 'assistants'/)
})

describe('a given client', () => {
  test('of Azure is used', async () => {
    const { fetch, sent } = wire(answer)
    const client = new AzureOpenAI({
      endpoint: 'https://acme.openai.azure.com',
      apiKey: 'secret',
      apiVersion: '2025-04-01-preview',
      fetch,
    })
    const model = openai({ model: 'my-deployment', client })
    expect(await partsOf(model)).toEqual([says('hi'), textEnd(), stops])
    expect(model).toMatchObject({ provider: 'acme.openai.azure.com', id: 'my-deployment' })
    expect(sent[0]?.url).toBe('https://acme.openai.azure.com/openai/responses?api-version=2025-04-01-preview')
    expect(sent[0]?.headers.get('api-key')).toBe('secret')
    expect(sent[0]?.body).toMatchObject({ model: 'my-deployment', store: false })
    expect(openai({ model: 'my-deployment', client, provider: 'azure' }).provider).toBe('azure')
  })

  test('of Azure speaks chat completions, too', async () => {
    const { fetch, sent } = wire(() => streamed(['data: [DONE]\n\n']))
    const client = new AzureOpenAI({
      endpoint: 'https://acme.openai.azure.com',
      apiKey: 'secret',
      apiVersion: '2025-04-01-preview',
      fetch,
    })
    await partsOf(openai({ model: 'my-deployment', api: 'chat', client }))
    expect(sent[0]?.url).toBe(
      'https://acme.openai.azure.com/openai/deployments/my-deployment/chat/completions?api-version=2025-04-01-preview',
    )
  })
})
