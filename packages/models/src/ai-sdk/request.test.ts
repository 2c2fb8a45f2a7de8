import type { Message, ModelRequest } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { partsOf } from '../testing/wire.ts'
import { fromAISDK } from './ai-sdk.ts'
import type { AISDKCallOptions } from './ai-sdk.ts'
import type { Version } from './model.ts'
import { finishPart, standIn, versions } from './testing/stand-in.ts'

async function sent(version: Version, request: Partial<ModelRequest>): Promise<AISDKCallOptions> {
  const { model, calls } = standIn(version, [finishPart(version, { reason: 'stop', raw: 'stop' })])
  await partsOf(fromAISDK(model), { messages: [], tools: [], ...request })
  expect(calls.length).toBe(1)
  return calls[0] as AISDKCallOptions
}

async function promptOf(version: Version, ...messages: Message[]): Promise<readonly object[]> {
  return (await sent(version, { messages })).prompt
}

const user: Message = { role: 'user', content: [{ type: 'text', text: 'hi' }] }
const png = { type: 'image', mediaType: 'image/png', data: 'AA==' } as const
const mark = { providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } } }

describe.for(versions)('a request to %s', (version) => {
  test('holds the settings that were given, and extra as providerOptions', async () => {
    const settings = {
      maxOutputTokens: 9,
      temperature: 0,
      topP: 0.5,
      stop: ['END'],
      seed: 3,
      extra: { acme: { effort: 'high' } },
    }
    const options = await sent(version, { settings })
    expect(options).toEqual({
      prompt: [],
      maxOutputTokens: 9,
      temperature: 0,
      topP: 0.5,
      stopSequences: ['END'],
      seed: 3,
      providerOptions: { acme: { effort: 'high' } },
      abortSignal: options.abortSignal,
    })
    expect(Object.keys(await sent(version, {})).toSorted()).toEqual(['abortSignal', 'prompt'])
  })

  test('holds tools and the choice among them', async () => {
    const tools = [{ name: 'add', description: 'Adds.', inputSchema: { type: 'object' } }]
    const { tools: given, toolChoice } = await sent(version, { tools, toolChoice: { toolName: 'add' } })
    expect(given).toEqual([{ type: 'function', ...tools[0] }])
    expect(toolChoice).toEqual({ type: 'tool', toolName: 'add' })
    expect((await sent(version, { tools, toolChoice: 'required' })).toolChoice).toEqual({ type: 'required' })
    expect(await sent(version, { toolChoice: 'required' })).not.toHaveProperty('toolChoice')
  })

  test('begins with one system message; later system text is the user’s', async () => {
    const system: Message = { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] }
    const { prompt } = await sent(version, { system: 'Be brief.', messages: [system, user, system] })
    expect(prompt).toEqual([
      { role: 'system', content: 'Be brief.\n\nBe kind.' },
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      { role: 'user', content: [{ type: 'text', text: 'Be kind.' }] },
    ])
  })

  test('marks what Anthropic is to cache', async () => {
    const system: Message = { role: 'system', content: [{ type: 'text', text: 's', cache: true }] }
    expect(await promptOf(version, system, { role: 'user', content: [{ type: 'text', text: 'hi', cache: true }] })).toEqual([
      { role: 'system', content: 's', ...mark },
      { role: 'user', content: [{ type: 'text', text: 'hi', ...mark }] },
    ])
  })

  test('holds images and files', async () => {
    const url = 'https://example.com/a.png'
    const pdf = { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'BB==' } as const
    const inline = { type: 'image', mediaType: 'image/png', url: 'data:image/png;base64,CC==' } as const
    const lost = { type: 'image', mediaType: 'image/png', url: 'no url' } as const
    const content = [png, { type: 'image', mediaType: 'image/png', url } as const, pdf, inline, lost]
    const data = (base64: string) => (version === 'v4' ? { type: 'data', data: base64 } : base64)
    expect(await promptOf(version, { role: 'user', content })).toEqual([
      {
        role: 'user',
        content: [
          { type: 'file', mediaType: 'image/png', data: data('AA==') },
          { type: 'file', mediaType: 'image/png', data: version === 'v4' ? { type: 'url', url: new URL(url) } : new URL(url) },
          { type: 'file', mediaType: 'application/pdf', data: data('BB=='), filename: 'a.pdf' },
          { type: 'file', mediaType: 'image/png', data: data('CC==') },
          { type: 'text', text: '[image image/png no url]' },
        ],
      },
    ])
  })

  test('gives its own metadata back in place, and none of another provider', async () => {
    const metadata = { acme: { signature: 's1' } }
    const message = (provider: string): Message => ({
      role: 'assistant',
      provider,
      content: [
        { type: 'reasoning', text: 'hmm', providerData: metadata },
        { type: 'text', text: 'a', providerData: metadata },
        { type: 'tool_call', callId: 'c1', toolName: 'add', args: { n: 1 }, providerData: metadata },
        { type: 'text', text: 'b' },
      ],
    })
    const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'add', input: { n: 1 } }
    expect(await promptOf(version, message('acme.chat'))).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hmm', providerOptions: metadata },
          { type: 'text', text: 'a', providerOptions: metadata },
          { ...call, providerOptions: metadata },
          { type: 'text', text: 'b' },
        ],
      },
    ])
    expect(await promptOf(version, message('other'))).toEqual([
      { role: 'assistant', content: [{ type: 'text', text: 'a' }, call, { type: 'text', text: 'b' }] },
    ])
  })

  test('leaves out a message of which nothing is left', async () => {
    const thought: Message = { role: 'assistant', provider: 'other', content: [{ type: 'reasoning', text: 'hmm' }] }
    expect(await promptOf(version, user, thought)).toHaveLength(1)
  })
})

describe('a result', () => {
  const result = (isError: boolean, content: Extract<Message, { role: 'tool' }>['content'][number]['content']): Message => ({
    role: 'tool',
    content: [{ type: 'tool_result', callId: 'c1', toolName: 'look', isError, content }],
  })
  const url = 'https://example.com/a'
  const media = [
    { type: 'text', text: 'see' },
    png,
    { type: 'image', mediaType: 'image/png', url },
    { type: 'file', mediaType: 'text/csv', name: 'a.csv', data: 'BB==' },
    { type: 'file', mediaType: 'text/csv', url },
  ] as const
  const outputs = {
    v2: [
      { type: 'media', data: 'AA==', mediaType: 'image/png' },
      { type: 'text', text: `[image image/png ${url}]` },
      { type: 'media', data: 'BB==', mediaType: 'text/csv' },
      { type: 'text', text: `[file text/csv ${url}]` },
    ],
    v3: [
      { type: 'image-data', data: 'AA==', mediaType: 'image/png' },
      { type: 'image-url', url },
      { type: 'file-data', data: 'BB==', mediaType: 'text/csv', filename: 'a.csv' },
      { type: 'file-url', url, mediaType: 'text/csv' },
    ],
    v4: [
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'AA==' } },
      { type: 'file', mediaType: 'image/png', data: { type: 'url', url: new URL(url) } },
      { type: 'file', mediaType: 'text/csv', data: { type: 'data', data: 'BB==' }, filename: 'a.csv' },
      { type: 'file', mediaType: 'text/csv', data: { type: 'url', url: new URL(url) } },
    ],
  }

  test.for(versions)('of %s has its form', async (version) => {
    const output = async (message: Message) => {
      const [{ content }] = (await promptOf(version, message)) as [{ content: [{ output: object }] }]
      expect(content).toEqual([{ type: 'tool-result', toolCallId: 'c1', toolName: 'look', output: content[0].output }])
      return content[0].output
    }
    const texts = [{ type: 'text', text: 'a' } as const, { type: 'text', text: 'b' } as const]
    expect(await output(result(false, texts))).toEqual({ type: 'text', value: 'a\nb' })
    expect(await output(result(true, texts))).toEqual({ type: 'error-text', value: 'a\nb' })
    expect(await output(result(false, media))).toEqual({
      type: 'content',
      value: [{ type: 'text', text: 'see' }, ...outputs[version]],
    })
  })
})
