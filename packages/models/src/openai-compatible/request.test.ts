import { ConfigError } from '@koagent/core'
import type { AssistantMessage, Message, ModelRequest } from '@koagent/core'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { openaiCompatible } from './openai-compatible.ts'
import type { OpenAICompatibleOptions } from './openai-compatible.ts'

interface Sent {
  readonly url: string
  readonly headers: Headers
  readonly body: Record<string, unknown>
}

/** What goes over the wire for a request. */
async function sent(request: Partial<ModelRequest>, options: Partial<OpenAICompatibleOptions> = {}): Promise<Sent> {
  const requests: Sent[] = []
  const model = openaiCompatible({
    baseURL: 'https://acme.test/v1',
    model: 'm1',
    fetch: async (input, init) => {
      const { url, headers } = new Request(input, init)
      requests.push({ url, headers, body: JSON.parse(init?.body as string) as Sent['body'] })
      return new Response('data: [DONE]\n\n', { headers: { 'content-type': 'text/event-stream' } })
    },
    ...options,
  })
  for await (const _ of model.stream({ messages: [], tools: [], ...request }, { signal: new AbortController().signal }));
  expect(requests.length).toBe(1)
  return requests[0] as Sent
}

async function messagesOf(
  messages: readonly Message[],
  options?: Partial<OpenAICompatibleOptions>,
  system?: string,
): Promise<unknown> {
  return (await sent({ messages, ...(system && { system }) }, options)).body['messages']
}

const openai = { baseURL: 'https://api.openai.com/v1', apiKey: 'k' }
const text = (words: string) => ({ type: 'text', text: words }) as const
const user = (...words: string[]): Message => ({ role: 'user', content: words.map(text) })

describe('messages', () => {
  test('system text at the beginning is one message', async () => {
    const messages: Message[] = [
      { role: 'system', content: [text('b'), text('c')] },
      { role: 'system', content: [text('d')] },
      user('hi'),
    ]
    expect(await messagesOf(messages, {}, 'a')).toEqual([
      { role: 'system', content: 'a\n\nb\nc\n\nd' },
      { role: 'user', content: 'hi' },
    ])
    expect(await messagesOf([user('hi')])).toEqual([{ role: 'user', content: 'hi' }])
  })

  test("later system text stays in place, as the user's where a server may refuse it", async () => {
    const messages: Message[] = [user('hi'), { role: 'system', content: [text('now be brief')] }]
    expect(await messagesOf(messages)).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'user', content: 'now be brief' },
    ])
    expect(await messagesOf(messages, openai)).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'system', content: 'now be brief' },
    ])
  })

  test('texts of a user become one string, anything more a list of parts', async () => {
    const content = [
      text('see'),
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      { type: 'image', mediaType: 'image/png', url: 'https://acme.test/a.png' },
      { type: 'file', mediaType: 'image/jpeg', data: 'BBBB' },
      { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'CCCC' },
      { type: 'file', mediaType: 'audio/mpeg', data: 'DDDD' },
      { type: 'file', mediaType: 'application/pdf', name: 'b.pdf', url: 'https://acme.test/b.pdf' },
      { type: 'image', mediaType: 'image/png' },
    ] as const
    expect(await messagesOf([user('a', 'b'), { role: 'user', content }])).toEqual([
      { role: 'user', content: 'a\nb' },
      {
        role: 'user',
        content: [
          text('see'),
          { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
          { type: 'image_url', image_url: { url: 'https://acme.test/a.png' } },
          { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,BBBB' } },
          { type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,CCCC' } },
          { type: 'input_audio', input_audio: { data: 'DDDD', format: 'mp3' } },
          text('[file b.pdf application/pdf https://acme.test/b.pdf]'),
          text('[image image/png without its data]'),
        ],
      },
    ])
  })

  test('empty text is no part, and no message of the system', async () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
    const url = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
    const messages: Message[] = [
      { role: 'user', content: [text(''), image, text('')] },
      { role: 'system', content: [text('')] },
      { role: 'assistant', content: [{ ...text(''), providerData: { id: 1 } }, text('hm')] },
      { role: 'user', content: [text(''), text('so')] },
    ]
    expect(await messagesOf(messages)).toEqual([
      { role: 'user', content: [url] },
      { role: 'assistant', content: 'hm' },
      { role: 'user', content: 'so' },
    ])
  })

  test('marks for a cache stay here', async () => {
    const image = { type: 'image', mediaType: 'image/png', url: 'https://acme.test/a.png', cache: true } as const
    expect(await messagesOf([{ role: 'user', content: [{ ...text('hi'), cache: true }, image] }])).toEqual([
      { role: 'user', content: [text('hi'), { type: 'image_url', image_url: { url: 'https://acme.test/a.png' } }] },
    ])
  })

  test('calls carry their arguments as JSON, also where the model wrote none', async () => {
    const content: AssistantMessage['content'] = [
      { type: 'tool_call', callId: 'a', toolName: 'add', args: { n: 1 } },
      { type: 'tool_call', callId: 'b', toolName: 'add', args: {}, rawArgs: '{"n": 1, }' },
    ]
    const tool_calls = [
      { id: 'a', type: 'function', function: { name: 'add', arguments: '{"n":1}' } },
      { id: 'b', type: 'function', function: { name: 'add', arguments: '{}' } },
    ]
    expect(await messagesOf([{ role: 'assistant', content }])).toEqual([{ role: 'assistant', content: null, tool_calls }])
    expect(await messagesOf([{ role: 'assistant', content: [text('So: '), text('now'), ...content] }])).toEqual([
      { role: 'assistant', content: 'So: now', tool_calls },
    ])
  })

  test('an answer that held nothing is no message; one that held nothing but reasoning is one', async () => {
    const reasoning = { type: 'reasoning', text: 'hm', providerData: { field: 'reasoning_content' } } as const
    const answer = { role: 'assistant', provider: 'acme.test' } as const
    const empty: Message[] = [
      { ...answer, content: [] },
      { ...answer, content: [text('')] },
    ]
    expect(await messagesOf([user('hi'), ...empty, { ...answer, content: [reasoning] }])).toEqual([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: '', reasoning_content: 'hm' },
    ])
  })

  test('opaque data goes back to the provider that it came from, and to no other', async () => {
    const message: AssistantMessage = {
      role: 'assistant',
      provider: 'acme.test',
      content: [
        { type: 'reasoning', text: 'hm', providerData: { field: 'reasoning_content' } },
        { type: 'reasoning', text: ', so', providerData: { field: 'reasoning_content' } },
        { type: 'reasoning', text: 'unsigned' },
        { type: 'reasoning', text: 'odd', providerData: { field: 'role' } },
        {
          type: 'tool_call',
          callId: 'a',
          toolName: 'add',
          args: {},
          providerData: { extra_content: { google: { thought_signature: 'S' } } },
        },
      ],
    }
    const call = { id: 'a', type: 'function', function: { name: 'add', arguments: '{}' } }
    expect(await messagesOf([message])).toEqual([
      {
        role: 'assistant',
        content: null,
        reasoning_content: 'hm, so',
        tool_calls: [{ ...call, extra_content: { google: { thought_signature: 'S' } } }],
      },
    ])
    expect(await messagesOf([message], { provider: 'other' })).toEqual([{ role: 'assistant', content: null, tool_calls: [call] }])
  })

  test('each result is a message, and what is no text follows them', async () => {
    const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
    const content = [
      { type: 'tool_result', callId: 'a', toolName: 'shot', content: [text('done'), image], isError: false },
      { type: 'tool_result', callId: 'b', toolName: 'add', content: [text('3'), text('4')], isError: false },
    ] as const
    expect(await messagesOf([{ role: 'tool', content }])).toEqual([
      { role: 'tool', tool_call_id: 'a', content: 'done\n[image image/png: in the next user message]' },
      { role: 'tool', tool_call_id: 'b', content: '3\n4' },
      {
        role: 'user',
        content: [text('From the result of shot (a):'), { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }],
      },
    ])
  })
})

describe('settings', () => {
  const tools = [{ name: 'add', description: 'Adds.', inputSchema: { type: 'object' } }]

  test('unset ones are not sent, and no tools means no tool fields', async () => {
    expect((await sent({ toolChoice: 'auto' })).body).toEqual({
      model: 'm1',
      messages: [],
      stream: true,
      stream_options: { include_usage: true },
    })
  })

  test('all of them have their field', async () => {
    const settings = { maxOutputTokens: 9, temperature: 0, topP: 0.5, stop: ['x'], seed: 0 }
    expect((await sent({ tools, toolChoice: { toolName: 'add' }, settings })).body).toEqual({
      model: 'm1',
      messages: [],
      tools: [{ type: 'function', function: { name: 'add', description: 'Adds.', parameters: { type: 'object' } } }],
      tool_choice: { type: 'function', function: { name: 'add' } },
      max_tokens: 9,
      temperature: 0,
      top_p: 0.5,
      stop: ['x'],
      seed: 0,
      stream: true,
      stream_options: { include_usage: true },
    })
    expect((await sent({ tools, toolChoice: 'required' })).body['tool_choice']).toBe('required')
  })

  test('OpenAI gets the name for the limit that its reasoning models ask for', async () => {
    const { body } = await sent({ settings: { maxOutputTokens: 9 } }, openai)
    expect(body).toMatchObject({ max_completion_tokens: 9 })
    expect(body).not.toHaveProperty('max_tokens')
  })

  test('extra fields win over ours, undefined takes one away, and the answer streams all the same', async () => {
    const extra = { temperature: 1, stream_options: undefined, stream: false, reasoning_effort: 'low' }
    expect((await sent({ settings: { temperature: 0, extra } })).body).toEqual({
      model: 'm1',
      messages: [],
      temperature: 1,
      reasoning_effort: 'low',
      stream: true,
    })
  })
})

describe('the server', () => {
  afterEach(() => vi.unstubAllEnvs())

  test('gets the key and the headers at its URL', async () => {
    const { url, headers } = await sent({}, { apiKey: 'secret', headers: { 'x-team': 'blue' } })
    expect(url).toBe('https://acme.test/v1/chat/completions')
    expect(headers.get('authorization')).toBe('Bearer secret')
    expect(headers.get('x-team')).toBe('blue')
    expect((await sent({}, { apiKey: () => Promise.resolve('fresh') })).headers.get('authorization')).toBe('Bearer fresh')
    expect((await sent({}, { headers: { Authorization: 'Basic x' } })).headers.get('authorization')).toBe('Basic x')
  })

  test("never gets OpenAI's key and organisation from the environment", async () => {
    vi.stubEnv('OPENAI_API_KEY', 'secret')
    vi.stubEnv('OPENAI_ADMIN_KEY', 'secret')
    vi.stubEnv('OPENAI_ORG_ID', 'secret')
    vi.stubEnv('OPENAI_PROJECT_ID', 'secret')
    const { headers } = await sent({})
    expect(headers.has('authorization')).toBe(false)
    expect(JSON.stringify([...headers])).not.toContain('secret')
    expect((await sent({}, { baseURL: 'https://api.openai.com/v1' })).headers.get('authorization')).toBe('Bearer secret')
  })

  test('is the one of the environment when none is given', async () => {
    vi.stubEnv('OPENAI_API_KEY', 'secret')
    vi.stubEnv('OPENAI_BASE_URL', 'https://gate.test/v2')
    const fetch = vi.fn<typeof globalThis.fetch>(() => Promise.resolve(new Response('data: [DONE]\n\n')))
    const model = openaiCompatible({ model: 'm1', fetch })
    for await (const _ of model.stream({ messages: [], tools: [] }, { signal: new AbortController().signal }));
    expect(fetch.mock.calls[0]?.[0]).toBe('https://gate.test/v2/chat/completions')
    expect(model.provider).toBe('gate.test')
  })

  test('gives the provider its name', () => {
    expect(openaiCompatible({ ...openai, model: 'm1' })).toMatchObject({ provider: 'openai', id: 'm1' })
    expect(openaiCompatible({ baseURL: 'http://localhost:11434/v1', model: 'm1' }).provider).toBe('localhost:11434')
    expect(openaiCompatible({ ...openai, model: 'm1', provider: 'acme' }).provider).toBe('acme')
  })

  test('that is no URL, or a missing key, is a ConfigError at once', () => {
    vi.stubEnv('OPENAI_API_KEY', undefined)
    vi.stubEnv('OPENAI_ADMIN_KEY', undefined)
    expect(() => openaiCompatible({ model: 'm1', baseURL: 'acme.test/v1' })).toThrow(ConfigError)
    expect(() => openaiCompatible({ model: 'm1' })).toThrow(ConfigError)
  })
})
