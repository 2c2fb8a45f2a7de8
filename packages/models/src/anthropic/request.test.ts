import type { AssistantMessage, Message, ModelRequest, ToolResultPart } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { partsOf, streamed, wire } from '../testing/wire.ts'
import { anthropic } from './anthropic.ts'

const end = 'data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n'

/** The body that goes over the wire for a request. */
async function bodyOf(request: Partial<ModelRequest>, model = 'claude-x', provider?: string): Promise<Record<string, unknown>> {
  const line = wire(() => streamed([end]))
  const options = { model, apiKey: 'k', fetch: line.fetch, ...(provider !== undefined && { provider }) }
  await partsOf(anthropic(options), { messages: [], tools: [], ...request })
  expect(line.sent.length).toBe(1)
  return line.sent[0]?.body ?? {}
}

const messagesOf = async (...messages: readonly Message[]): Promise<unknown> => (await bodyOf({ messages }))['messages']
const text = (words: string) => ({ type: 'text', text: words }) as const
const user = (...words: string[]): Message => ({ role: 'user', content: words.map(text) })
const assistant = (...content: AssistantMessage['content']): AssistantMessage => ({
  role: 'assistant',
  provider: 'anthropic',
  content,
})
const call = (callId: string) => ({ type: 'tool_call', callId, toolName: 'add', args: { n: 1 } }) as const
const use = (id: string) => ({ type: 'tool_use', id, name: 'add', input: { n: 1 } })
const result = (callId: string, ...content: ToolResultPart['content']): ToolResultPart => ({
  type: 'tool_result',
  callId,
  toolName: 'add',
  content,
  isError: false,
})

describe('system text', () => {
  test('at the beginning stands apart, later it is the user who says it', async () => {
    const system = (...words: string[]): Message => ({ role: 'system', content: words.map(text) })
    const messages = [system('b', ' '), system('c'), user('hi'), system('now be brief')]
    expect(await bodyOf({ system: 'a', messages })).toEqual({
      model: 'claude-x',
      max_tokens: 32_000,
      system: [text('a'), text('b'), text('c')],
      messages: [{ role: 'user', content: [text('hi'), text('now be brief')] }],
      stream: true,
    })
  })
})

describe('a turn of the user', () => {
  test('is all that stands between two answers, its results first', async () => {
    expect(
      await messagesOf(
        user('a', 'b'),
        user('c'),
        assistant(call('1'), call('2')),
        { role: 'tool', content: [result('1', text('3')), result('2', text('4'))] },
        user('and now?'),
      ),
    ).toEqual([
      { role: 'user', content: [text('a'), text('b'), text('c')] },
      { role: 'assistant', content: [use('1'), use('2')] },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: '1', content: [text('3')] },
          { type: 'tool_result', tool_use_id: '2', content: [text('4')] },
          text('and now?'),
        ],
      },
    ])
  })

  test('holds images and documents, and a note for what the API has no block for', async () => {
    const content = [
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      { type: 'image', mediaType: 'image/png', url: 'https://acme.test/a.png' },
      { type: 'file', mediaType: 'image/webp', data: 'BBBB' },
      { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'CCCC' },
      { type: 'file', mediaType: 'application/pdf', url: 'https://acme.test/b.pdf' },
      { type: 'file', mediaType: 'text/plain', name: 'a.txt', data: btoa('Gr\u00c3\u00bc\u00c3\u009fe') },
      { type: 'file', mediaType: 'text/csv', data: btoa('a,b') },
      { type: 'file', mediaType: 'text/plain', name: 'empty.txt', data: '' },
      { type: 'file', mediaType: 'text/plain', url: 'https://acme.test/c.txt' },
      { type: 'file', mediaType: 'application/zip', name: 'd.zip', data: 'DDDD' },
      { type: 'image', mediaType: 'image/svg+xml', data: 'EEEE' },
      { type: 'file', mediaType: 'application/pdf' },
    ] as const
    const plain = (data: string) => ({ type: 'text', media_type: 'text/plain', data })
    expect(await messagesOf({ role: 'user', content })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } },
          { type: 'image', source: { type: 'url', url: 'https://acme.test/a.png' } },
          { type: 'image', source: { type: 'base64', media_type: 'image/webp', data: 'BBBB' } },
          { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'CCCC' }, title: 'a.pdf' },
          { type: 'document', source: { type: 'url', url: 'https://acme.test/b.pdf' } },
          { type: 'document', source: plain('Grüße'), title: 'a.txt' },
          { type: 'document', source: plain('a,b') },
          text('[file empty.txt text/plain without its data]'),
          text('[file text/plain https://acme.test/c.txt]'),
          text('[file d.zip application/zip without its data]'),
          text('[image image/svg+xml without its data]'),
          text('[file application/pdf without its data]'),
        ],
      },
    ])
  })

  test('leaves out blank text, and says so where nothing else is there', async () => {
    expect(await messagesOf(user('a', '', ' \n'))).toEqual([{ role: 'user', content: [text('a')] }])
    expect(await messagesOf(user('a'), assistant(text('b')), user(' '))).toEqual([
      { role: 'user', content: [text('a')] },
      { role: 'assistant', content: [text('b')] },
      { role: 'user', content: [text('(no content)')] },
    ])
  })
})

describe('a result', () => {
  const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const

  test.for<[string, ToolResultPart, object]>([
    ['of nothing', result('1'), {}],
    ['of blank text', result('1', text(' ')), {}],
    [
      'of text and an image',
      result('1', text('3'), image),
      { content: [text('3'), { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }] },
    ],
    ['that is an error', { ...result('1', text('no')), isError: true }, { content: [text('no')], is_error: true }],
    [
      'that is an error holds text only',
      { ...result('1', image), isError: true },
      { content: [text('[image image/png without its data]')], is_error: true },
    ],
  ])('%s', async ([, part, block]) => {
    expect(await messagesOf(assistant(call('1')), { role: 'tool', content: [part] })).toEqual([
      { role: 'assistant', content: [use('1')] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: '1', ...block }] },
    ])
  })

  test('keeps its call where the API would refuse the id', async () => {
    const content = [call('a:b/😀'), call('call_1-x')]
    const ids = ['a_3a_b_2f__1f600_', 'call_1-x']
    const results: Message = { role: 'tool', content: content.map(({ callId }) => result(callId)) }
    expect(await messagesOf({ role: 'assistant', provider: 'other', content }, results)).toEqual([
      { role: 'assistant', content: ids.map(use) },
      { role: 'user', content: ids.map((id) => ({ type: 'tool_result', tool_use_id: id })) },
    ])
  })
})

describe('an answer', () => {
  const answer = assistant(
    { type: 'reasoning', text: 'hm', providerData: { signature: 'S' } },
    { type: 'reasoning', text: '', providerData: { signature: 'E' } },
    { type: 'reasoning', text: 'unsigned' },
    { type: 'reasoning', text: 'unsigned', providerData: { signature: '' } },
    { type: 'reasoning', text: '', providerData: { type: 'redacted_thinking', data: 'D' } },
    text('\n\n'),
    { ...text('so'), providerData: { citations: [] } },
    text('it is'),
    { ...call('1'), providerData: { caller: { type: 'direct' } } },
    { ...call('2'), args: {}, rawArgs: '{"n": 1, }' },
  )

  test('goes back block by block, without what the API refuses', async () => {
    expect(await messagesOf(answer)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hm', signature: 'S' },
          { type: 'thinking', thinking: '', signature: 'E' },
          { type: 'redacted_thinking', data: 'D' },
          { ...text('so'), citations: [] },
          text('it is'),
          { ...use('1'), caller: { type: 'direct' } },
          { ...use('2'), input: {} },
        ],
      },
    ])
  })

  test('of another provider goes without what only that one knows', async () => {
    expect(await messagesOf({ ...answer, provider: 'other' })).toEqual([
      { role: 'assistant', content: [text('so'), text('it is'), use('1'), { ...use('2'), input: {} }] },
    ])
  })

  test('of which nothing can be sent is left out', async () => {
    expect(await messagesOf(user('a'), assistant({ type: 'reasoning', text: 'hm' }, text(' ')), user('b'))).toEqual([
      { role: 'user', content: [text('a'), text('b')] },
    ])
  })

  test('that waits in a sandbox names it with its results', async () => {
    const waiting: Message = { ...assistant(call('1')), providerData: { container: 'c1' } }
    const results: Message = { role: 'tool', content: [result('1')] }
    const container = async (...messages: Message[]) => (await bodyOf({ messages }))['container']
    expect(await container(user('a'), waiting, results)).toBe('c1')
    expect(await container(user('a'), waiting, results, assistant(text('b')), user('c'))).toBeUndefined()
    expect(await container(user('a'), { ...waiting, content: [text('b')] }, user('c'))).toBeUndefined()
    expect(await container(user('a'), { ...waiting, provider: 'other' }, results)).toBeUndefined()
  })
})

describe('settings', () => {
  const inputSchema = { type: 'object', properties: {} } as const
  const tools = [{ name: 'add', description: 'Adds.', inputSchema }]

  test('unset ones are not sent, and no tools means no tool fields', async () => {
    expect(await bodyOf({ toolChoice: 'auto' })).toEqual({ model: 'claude-x', max_tokens: 32_000, messages: [], stream: true })
  })

  test('all of them have their field, but for the seed', async () => {
    const settings = { maxOutputTokens: 9, temperature: 0, topP: 0.5, stop: ['x'], seed: 0 }
    expect(await bodyOf({ tools, toolChoice: { toolName: 'add' }, settings })).toEqual({
      model: 'claude-x',
      max_tokens: 9,
      messages: [],
      tools: [{ name: 'add', description: 'Adds.', input_schema: inputSchema }],
      tool_choice: { type: 'tool', name: 'add' },
      temperature: 0,
      top_p: 0.5,
      stop_sequences: ['x'],
      stream: true,
    })
  })

  test.for([
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'any'],
  ] as const)("the choice '%s' is '%s'", async ([toolChoice, type]) => {
    expect(await bodyOf({ tools, toolChoice })).toMatchObject({ tool_choice: { type } })
  })

  test('extra fields win over ours, undefined takes one away, and the answer streams all the same', async () => {
    const extra = { thinking: { type: 'enabled', budget_tokens: 1024 }, temperature: 1, top_p: undefined, stream: false }
    expect(await bodyOf({ settings: { temperature: 0, topP: 0.5, extra } })).toEqual({
      model: 'claude-x',
      max_tokens: 32_000,
      messages: [],
      thinking: { type: 'enabled', budget_tokens: 1024 },
      temperature: 1,
      stream: true,
    })
  })

  test.for([
    ['claude-3-haiku-20240307', 4096],
    ['us.anthropic.claude-3-opus-20240229-v1:0', 4096],
    ['claude-3-sonnet@20240229', 4096],
    ['claude-3-5-sonnet-latest', 8192],
    ['claude-3-7-sonnet-20250219', 8192],
    ['claude-opus-4-1', 32_000],
    ['anthropic.claude-sonnet-4-5-20250929-v1:0', 32_000],
  ] as const)('%s is asked for at most %d tokens', async ([model, tokens]) => {
    expect(await bodyOf({}, model)).toMatchObject({ max_tokens: tokens })
  })
})
