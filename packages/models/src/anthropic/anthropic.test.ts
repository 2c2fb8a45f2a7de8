import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Anthropic from '@anthropic-ai/sdk'
import { ConfigError } from '@koagent/core'
import type { ModelSettings } from '@koagent/core'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { hello, partsOf, streamed, wire } from '../testing/wire.ts'
import type { Sent } from '../testing/wire.ts'
import { anthropic } from './anthropic.ts'
import type { AnthropicOptions } from './anthropic.ts'

const end = 'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n'
const variables = [
  'API_KEY',
  'AUTH_TOKEN',
  'BASE_URL',
  'CUSTOM_HEADERS',
  'PROFILE',
  'CONFIG_DIR',
  'FEDERATION_RULE_ID',
  'ORGANIZATION_ID',
]

beforeEach(() => variables.forEach((name) => vi.stubEnv(`ANTHROPIC_${name}`, undefined)))
afterEach(() => vi.unstubAllEnvs())

/** What goes over the wire to whom. */
async function sent(
  options: Omit<Extract<AnthropicOptions, { client?: never }>, 'model' | 'fetch' | 'cache' | 'provider'>,
): Promise<Sent> {
  const line = wire(() => streamed([end]))
  await partsOf(anthropic({ model: 'm1', fetch: line.fetch, ...options }))
  expect(line.sent.length).toBe(1)
  return line.sent[0] as Sent
}

describe('the server', () => {
  test('gets the key and the headers at its URL', async () => {
    const { url, headers } = await sent({ baseURL: 'https://acme.test/x', apiKey: 'secret', headers: { 'x-team': 'blue' } })
    expect(url).toBe('https://acme.test/x/v1/messages')
    expect(headers.get('authorization')).toBe('Bearer secret')
    expect(headers.get('x-team')).toBe('blue')
    expect((await sent({ apiKey: () => Promise.resolve('fresh') })).headers.get('authorization')).toBe('Bearer fresh')
    expect(
      (await sent({ baseURL: 'https://acme.test', headers: { authorization: 'Bearer x' } })).headers.get('authorization'),
    ).toBe('Bearer x')
  })

  test.for(['API_KEY', 'AUTH_TOKEN'])("never gets Anthropic's ANTHROPIC_%s from the environment", async (name) => {
    vi.stubEnv(`ANTHROPIC_${name}`, 'secret')
    vi.stubEnv('ANTHROPIC_CUSTOM_HEADERS', 'Authorization: Bearer secret\nX-Api-Key: secret')
    const { headers } = await sent({ baseURL: 'https://acme.test' })
    expect(JSON.stringify([...headers])).not.toContain('secret')
    expect(headers.has('x-api-key')).toBe(false)
    expect(headers.has('authorization')).toBe(false)
  })

  test.for(['API_KEY', 'AUTH_TOKEN'])('of Anthropic gets ANTHROPIC_%s', async (name) => {
    vi.stubEnv(`ANTHROPIC_${name}`, 'secret')
    const { url, headers } = await sent({ baseURL: 'https://api.anthropic.com' })
    expect(url).toBe('https://api.anthropic.com/v1/messages')
    expect(headers.get('authorization')).toBe('Bearer secret')
  })

  test('is the one of the environment when none is given', async () => {
    vi.stubEnv('ANTHROPIC_API_KEY', 'secret')
    vi.stubEnv('ANTHROPIC_BASE_URL', 'https://gate.test')
    expect((await sent({})).url).toBe('https://gate.test/v1/messages')
    expect(anthropic({ model: 'm1' }).provider).toBe('gate.test')
  })

  test('that is no URL, or a missing key, is a ConfigError at once', () => {
    expect(() => anthropic({ model: 'm1', baseURL: 'acme.test' })).toThrow(ConfigError)
    expect(() => anthropic({ model: 'm1' })).toThrow(ConfigError)
    expect(() => anthropic({ model: 'm1' })).toThrow(/set ANTHROPIC_API_KEY/)
  })
})

describe('the version of the API', () => {
  const bedrock = 'https://bedrock-runtime.eu-west-1.amazonaws.com'
  const vertex = 'https://aiplatform.googleapis.com/v1'

  test.for<[string, string, ModelSettings, string, unknown]>([
    ['https://api.anthropic.com', 'nothing', {}, 'new', undefined],
    ['https://api.anthropic.com', 'temperature', { temperature: 0 }, '2023-06-01', undefined],
    ['https://acme.test', 'topP', { topP: 1 }, '2023-06-01', undefined],
    ['https://acme.test', 'top_k', { extra: { top_k: 5 } }, '2023-06-01', undefined],
    [
      'https://acme.test',
      'a temperature that is taken away',
      { temperature: 0, extra: { temperature: undefined } },
      'new',
      undefined,
    ],
    [vertex, 'nothing', {}, 'new', undefined],
    [vertex, 'temperature', { temperature: 0 }, 'new', 'vertex-2023-10-16'],
    [bedrock, 'nothing', {}, 'new', 'bedrock-2023-05-31'],
    [bedrock, 'temperature', { temperature: 0 }, 'new', 'bedrock-2023-05-31'],
    [bedrock, 'a version', { extra: { anthropic_version: '2026-10-21' } }, 'new', '2026-10-21'],
  ])('at %s with %s is one that takes it', async ([baseURL, , settings, header, field]) => {
    const line = wire(() => streamed([end]))
    const client = new Anthropic({ apiKey: 'k', baseURL, fetch: line.fetch, defaultHeaders: { 'anthropic-version': 'new' } })
    await partsOf(anthropic({ model: 'm1', client }), { ...hello, settings })
    expect(line.sent[0]?.headers.get('anthropic-version')).toBe(header)
    expect(line.sent[0]?.body['anthropic_version']).toBe(field)
  })
})

describe('the provider', () => {
  test.for([
    ['https://api.anthropic.com', 'anthropic'],
    ['https://bedrock-runtime.eu-west-1.amazonaws.com', 'anthropic'],
    ['https://bedrock-mantle.eu-west-1.api.aws/anthropic', 'anthropic'],
    ['https://europe-west1-aiplatform.googleapis.com/v1', 'anthropic'],
    ['https://aiplatform.eu.rep.googleapis.com/v1', 'anthropic'],
    ['https://api.acme.test/anthropic', 'api.acme.test'],
    ['https://amazonaws.com.acme.test', 'amazonaws.com.acme.test'],
    ['http://localhost:8080', 'localhost:8080'],
  ])('at %s is %s', ([baseURL, provider]) => {
    const client = new Anthropic({ apiKey: 'k', baseURL })
    expect(anthropic({ model: 'm1', client })).toMatchObject({ provider, id: 'm1' })
    expect(anthropic({ model: 'm1', client, provider: 'acme' }).provider).toBe('acme')
  })
})

describe('a client that is given', () => {
  test('sends the request, as it is', async () => {
    const line = wire(() => streamed([end]))
    const client = new Anthropic({ apiKey: 'k', fetch: line.fetch, defaultHeaders: { 'x-team': 'blue' } })
    await partsOf(anthropic({ model: 'm1', client }), hello)
    expect(line.sent[0]?.headers.get('x-team')).toBe('blue')
    expect(line.sent[0]?.body).toMatchObject({ model: 'm1', stream: true })
  })

  test('may be anything that looks like one', async () => {
    const asked: unknown[] = []
    const client = {
      baseURL: 'https://acme.test',
      messages: {
        create: (body: object, options: object) => {
          asked.push(body, options)
          return { asResponse: () => Promise.resolve(streamed([end])) }
        },
      },
    }
    expect(await partsOf(anthropic({ model: 'm1', client }))).toEqual([{ type: 'finish', reason: 'stop', rawReason: 'end_turn' }])
    expect(asked).toEqual([expect.objectContaining({ model: 'm1' }), { signal: expect.any(AbortSignal), maxRetries: 0 }])
  })

  test('with a baseURL that is none is a ConfigError at once', () => {
    const client = { baseURL: '/api', messages: { create: () => ({ asResponse: () => Promise.resolve(new Response()) }) } }
    expect(() => anthropic({ model: 'm1', client })).toThrow(ConfigError)
  })
})

test('nothing is printed', async () => {
  const printed = (['log', 'info', 'warn', 'error', 'debug'] as const).map((level) => vi.spyOn(console, level).mockReturnValue())
  vi.stubEnv('ANTHROPIC_LOG', 'debug')
  const server = createServer((_, response) => response.writeHead(500).end()).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.on('listening', resolve))
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  await expect(partsOf(anthropic({ model: 'm1', baseURL }))).rejects.toThrow('HTTP 500')
  server.close()
  for (const spy of printed) expect(spy).not.toHaveBeenCalled()
  vi.restoreAllMocks()
})
