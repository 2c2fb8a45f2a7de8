import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAnthropic } from '@ai-sdk/anthropic'
import { Agent, defineTool, ModelError } from '@koagent/core'
import type { Message, ModelPart } from '@koagent/core'
import { createOpenAICompatible as createV2 } from 'ai-sdk-v2'
import { createOpenAICompatible as createV3 } from 'ai-sdk-v3'
import { createOpenAICompatible as createV4 } from 'ai-sdk-v4'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { events, hello, partsOf, streamed, wire } from '../testing/wire.ts'
import { fromAISDK } from './ai-sdk.ts'
import type { AISDKModel } from './ai-sdk.ts'

type Fetch = typeof globalThis.fetch
const at = (fetch: Fetch, baseURL = 'http://model.test/v1') => ({ name: 'acme', baseURL, fetch, includeUsage: true })

const compatible: readonly (readonly [string, (fetch: Fetch, baseURL?: string) => AISDKModel])[] = [
  ['v2', (fetch, baseURL) => createV2(at(fetch, baseURL))('m')],
  ['v3', (fetch, baseURL) => createV3(at(fetch, baseURL))('m')],
  ['v4', (fetch, baseURL) => createV4(at(fetch, baseURL))('m')],
]

function chunks(deltas: readonly object[], end?: string): Response {
  const all = deltas.map((delta) => ({ id: 'c', choices: [{ index: 0, delta }] }))
  const last = {
    id: 'c',
    choices: [{ index: 0, delta: {}, finish_reason: end }],
    usage: { prompt_tokens: 9, completion_tokens: 4 },
  }
  return streamed([events(end === undefined ? all : [...all, last]), ...(end === undefined ? [] : ['data: [DONE]\n\n'])])
}

const piece = (index: number, fn: object, id?: string) => ({ tool_calls: [{ index, id, type: 'function', function: fn }] })
const calls = [
  piece(0, { name: 'add', arguments: '{"n"' }, 'a'),
  piece(1, { name: 'add', arguments: '{"n":2' }, 'b'),
  piece(0, { arguments: ':1}' }),
  piece(1, { arguments: '}' }),
]
const add = defineTool({ name: 'add', description: 'Adds one.', input: z.object({ n: z.number() }), execute: ({ n }) => n + 1 })
const finish = (reason: string, rawReason: string) => ({ type: 'finish', reason, rawReason })
const noRaw = (parts: readonly ModelPart[]) => parts.filter(({ type }) => type !== 'raw')

describe.for(compatible)('@ai-sdk/openai-compatible of %s', ([version, make]) => {
  test('gives text, reasoning and usage', async () => {
    const { fetch, sent } = wire(() => chunks([{ reasoning_content: 'hmm' }, { content: 'Hel' }, { content: 'lo' }], 'stop'))
    expect(noRaw(await partsOf(fromAISDK(make(fetch))))).toEqual([
      { type: 'reasoning_delta', text: 'hmm' },
      { type: 'reasoning_end' },
      { type: 'text_delta', text: 'Hel' },
      { type: 'text_delta', text: 'lo' },
      expect.objectContaining({ usage: expect.objectContaining({ inputTokens: 9, outputTokens: 4 }) }),
      finish('stop', 'stop'),
    ])
    expect(sent[0]?.body).toMatchObject({ model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] })
  })

  test('runs parallel tools, and answers them in the next request', async () => {
    const { fetch, sent } = wire(() =>
      sent.length === 1 ? chunks([{ content: 'Let me.' }, ...calls], 'tool_calls') : chunks([{ content: '5' }], 'stop'),
    )
    const { text } = await new Agent({ model: fromAISDK(make(fetch)), tools: [add] }).run('go')
    expect(text).toBe('5')
    const call = (id: string, n: number) => ({ id, type: 'function', function: { name: 'add', arguments: `{"n":${n}}` } })
    expect(sent[1]?.body['messages']).toEqual([
      { role: 'user', content: 'go' },
      { role: 'assistant', content: expect.stringMatching('Let me.'), tool_calls: [call('a', 1), call('b', 2)] },
      { role: 'tool', tool_call_id: 'a', content: '2' },
      { role: 'tool', tool_call_id: 'b', content: '3' },
    ])
  })

  test('streams the arguments of a call', async () => {
    const { fetch } = wire(() => chunks(calls, version === 'v2' ? 'stop' : 'tool_calls'))
    const parts = await partsOf(fromAISDK(make(fetch)))
    const deltas = parts.map((part) => (part.type === 'tool_call_delta' && part.callId === 'a' ? part.delta : '')).join('')
    expect(deltas).toBe('{"n":1}')
    expect(parts.filter(({ type }) => type === 'tool_call')).toHaveLength(2)
    expect(parts.at(-1)).toMatchObject({ reason: 'tool_calls' })
  })

  test('refuses with the words and the wish of the server', async () => {
    const headers = { 'retry-after': '3', 'x-request-id': 'r7' }
    const { fetch, sent } = wire(() => Response.json({ error: { message: 'slow down', code: 'rate' } }, { status: 429, headers }))
    await expect(partsOf(fromAISDK(make(fetch)))).rejects.toMatchObject({
      message: `model 'acme.chat/m' answered with HTTP 429: slow down`,
      name: 'ModelError',
      status: 429,
      retryable: true,
      retryAfterMs: 3000,
      requestId: 'r7',
    })
    expect(sent.length).toBe(1)
  })

  test('says that the request is too long', async () => {
    const error = { message: 'too long', code: 'context_length_exceeded', type: 'invalid_request_error' }
    const { fetch } = wire(() => Response.json({ error }, { status: 400 }))
    await expect(partsOf(fromAISDK(make(fetch)))).rejects.toMatchObject({
      code: 'context_overflow',
      status: 400,
      retryable: false,
    })
  })

  test('fails for an error frame', async () => {
    const frames = [{ error: { message: 'overloaded', type: 'server_error' } }, { error: 'overloaded' }]
    for (const frame of frames) {
      const { fetch } = wire(() => streamed([events([{ id: 'c', choices: [{ index: 0, delta: { content: 'a' } }] }, frame])]))
      const error: unknown = await partsOf(fromAISDK(make(fetch))).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(ModelError)
      expect(error).toMatchObject({ message: expect.stringMatching(/in its stream: .*overloaded/), retryable: true })
    }
  })

  test('was cut where no finish reason came', async () => {
    const { fetch } = wire(() => chunks([{ content: 'half' }]))
    await expect(partsOf(fromAISDK(make(fetch)))).rejects.toMatchObject({ code: 'model_stream_cut', retryable: true })
  })

  test('that cannot be reached is a retryable failure', async () => {
    const model = fromAISDK(make(globalThis.fetch, 'http://127.0.0.1:9/v1'))
    await expect(partsOf(model)).rejects.toMatchObject({
      name: 'ModelError',
      retryable: true,
      message: expect.stringMatching(/cannot be reached: ./),
    })
  })

  test('is aborted with its socket, also by leaving', async () => {
    let closed = 0
    const server = createServer((_, response) => {
      response.on('close', () => closed++).writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(events([{ id: 'c', choices: [{ index: 0, delta: { content: 'a' } }] }]))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const model = fromAISDK(make(globalThis.fetch, `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`))
    const controller = new AbortController()
    const reading = (async () => {
      for await (const part of model.stream(hello, { signal: controller.signal }))
        if (part.type === 'text_delta') controller.abort('enough')
    })()
    await expect(reading).rejects.toBe('enough')
    await expect.poll(() => closed).toBe(1)
    for await (const part of model.stream(hello, { signal: new AbortController().signal })) if (part.type === 'text_delta') break
    await expect.poll(() => closed).toBe(2)
    await new Promise((resolve) => {
      server.close(resolve)
      server.closeAllConnections()
    })
  })
})

describe('@ai-sdk/anthropic', () => {
  const make = (fetch: Fetch) =>
    fromAISDK(createAnthropic({ baseURL: 'http://model.test/v1', apiKey: 'k', fetch })('claude-sonnet-4-5'))
  const usage = { input_tokens: 3, output_tokens: 1 }
  const start = {
    type: 'message_start',
    message: { type: 'message', id: 'm', model: 'claude', role: 'assistant', content: [], usage },
  }
  const end = (stop_reason: string) => [
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ]
  const block = (index: number, content_block: object, ...deltas: readonly object[]) => [
    { type: 'content_block_start', index, content_block },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
    { type: 'content_block_stop', index },
  ]
  const message = (blocks: readonly object[][], reason: string) => streamed([events([start, ...blocks.flat(), ...end(reason)])])
  const text = (index: number, said: string) => block(index, { type: 'text', text: '' }, { type: 'text_delta', text: said })
  const thinking = block(
    0,
    { type: 'thinking', thinking: '', signature: '' },
    { type: 'thinking_delta', thinking: 'hm' },
    { type: 'thinking_delta', thinking: 'm' },
    { type: 'signature_delta', signature: 'sig1' },
  )
  const redacted = block(1, { type: 'redacted_thinking', data: 'secret' })
  const call = (index: number, id: string, n: number) =>
    block(index, { type: 'tool_use', id, name: 'add', input: {} }, { type: 'input_json_delta', partial_json: `{"n":${n}}` })
  const asking = () => message([thinking, redacted, text(2, 'Let me.'), call(3, 'a', 1), call(4, 'b', 2)], 'tool_use')
  const tool_use = (id: string, n: number) => ({ type: 'tool_use', id, name: 'add', input: { n } })

  test('gets its thinking back as it was, signed, with the calls', async () => {
    const { fetch, sent } = wire(() => (sent.length === 1 ? asking() : message([text(0, '5')], 'end_turn')))
    const result = await new Agent({ model: make(fetch), tools: [add] }).run('go')
    expect(result.text).toBe('5')
    expect(sent[1]?.body['messages']).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'go' }] },
      {
        role: 'assistant',
        content: [
          { type: 'thinking', thinking: 'hmm', signature: 'sig1' },
          { type: 'redacted_thinking', data: 'secret' },
          { type: 'text', text: 'Let me.' },
          tool_use('a', 1),
          tool_use('b', 2),
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'tool_result', tool_use_id: 'a', content: '2' },
          { type: 'tool_result', tool_use_id: 'b', content: '3' },
        ],
      },
    ])
  })

  test('loses it with another provider, and has what is left of the session', async () => {
    const first = wire(asking)
    const session: Message[] = []
    const asked = await new Agent({ model: make(first.fetch), tools: [add], maxTurns: 1 }).run('go')
    session.push(...asked.messages)
    const { fetch, sent } = wire(() => chunks([{ content: '5' }], 'stop'))
    await partsOf(fromAISDK(createV3(at(fetch))('m')), { messages: session, tools: [] })
    expect(JSON.stringify(sent[0]?.body)).not.toMatch(/hmm|sig1|secret/)
    expect(sent[0]?.body['messages']).toHaveLength(4)
  })

  test('gets back its own search, citations and cache marks', async () => {
    const found = { type: 'web_search_result', url: 'https://a.test', title: 'A', encrypted_content: 'e', page_age: null }
    const cited = { type: 'web_search_result_location', cited_text: 'c', url: 'https://a.test', title: 'A', encrypted_index: 'i' }
    const search = [
      block(
        0,
        { type: 'server_tool_use', id: 's1', name: 'web_search', input: {} },
        { type: 'input_json_delta', partial_json: '{"query":"q"}' },
      ),
      block(1, { type: 'web_search_tool_result', tool_use_id: 's1', content: [found] }),
      text(2, 'Plain. '),
      block(
        3,
        { type: 'text', text: '', citations: [] },
        { type: 'text_delta', text: 'Cited.' },
        { type: 'citations_delta', citation: cited },
      ),
    ]
    const { fetch, sent } = wire(() => message(sent.length === 1 ? search : [text(0, 'x')], 'end_turn'))
    const { messages } = await new Agent({ model: make(fetch) }).run([{ type: 'text', text: 'go', cache: true }])
    await partsOf(make(fetch), { messages: [...messages, { role: 'user', content: [{ type: 'text', text: 'on' }] }], tools: [] })
    expect(sent[1]?.body['messages']).toMatchObject([
      { content: [{ type: 'text', text: 'go', cache_control: { type: 'ephemeral' } }] },
      {
        content: [
          { type: 'server_tool_use', id: 's1', name: 'web_search', input: { query: 'q' } },
          { type: 'web_search_tool_result', tool_use_id: 's1' },
          { type: 'text', text: 'Plain. ' },
          { type: 'text', text: 'Cited.', citations: [cited] },
        ],
      },
      { content: [{ type: 'text', text: 'on' }] },
    ])
  })

  test('takes its options from extra, and refuses when it is busy', async () => {
    const { fetch, sent } = wire(() =>
      Response.json({ type: 'error', error: { type: 'overloaded_error', message: 'busy' } }, { status: 529 }),
    )
    const settings = { maxOutputTokens: 4000, extra: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } } }
    await expect(partsOf(make(fetch), { ...hello, settings })).rejects.toMatchObject({ status: 529, retryable: true })
    expect(sent[0]?.body['thinking']).toEqual({ type: 'enabled', budget_tokens: 1024 })
  })

  test.for([
    [{ type: 'overloaded_error', message: 'busy' }, true],
    [{ type: 'invalid_request_error', message: 'busy' }, false],
  ] as const)('that fails in its stream with %j is retryable: %s', async ([error, retryable]) => {
    for (const before of [[], [start], [start, ...text(0, 'a')]]) {
      const { fetch } = wire(() => streamed([events([...before, { type: 'error', error }])]))
      await expect(partsOf(make(fetch))).rejects.toMatchObject({ retryable, message: expect.stringContaining('busy') })
    }
  })

  test('was cut where no message_stop came', async () => {
    const { fetch } = wire(() => streamed([events([start, ...text(0, 'half')])]))
    await expect(partsOf(make(fetch))).rejects.toMatchObject({ code: 'model_stream_cut', retryable: true })
  })
})
