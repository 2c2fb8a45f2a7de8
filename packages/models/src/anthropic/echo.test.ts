import { Agent, defineTool, memorySession } from '@koagent/core'
import type { Message, Session } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { describe, expect, test } from 'vitest'
import { events, streamed, wire } from '../testing/wire.ts'
import type { Wire } from '../testing/wire.ts'
import { anthropic } from './anthropic.ts'

type Block = Readonly<Record<string, unknown>> & { readonly type: string }

/** The stream of a message with these blocks, in the pieces in which the API sends them. */
function streamOf(blocks: readonly Block[], reason: string, more: object = {}): string {
  const payloads = blocks.flatMap((block, index) => {
    const { begin, deltas } = pieces(block)
    return [
      { type: 'content_block_start', index, content_block: begin },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]
  })
  return events([
    { type: 'message_start', message: { content: [], usage: { input_tokens: 1, output_tokens: 1 } } },
    ...payloads,
    { type: 'message_delta', delta: { stop_reason: reason, ...more } },
    { type: 'message_stop' },
  ])
}

function pieces(block: Block): { readonly begin: object; readonly deltas: readonly object[] } {
  const { type, text, thinking, signature, citations, input, ...rest } = block
  if (type === 'text') {
    const sources = Array.isArray(citations) ? citations.map((citation: unknown) => ({ type: 'citations_delta', citation })) : []
    return { begin: { ...rest, type, text: '' }, deltas: [...sources, { type: 'text_delta', text }] }
  }
  if (type === 'thinking') {
    const words = thinking ? [{ type: 'thinking_delta', thinking }] : []
    const signed = signature ? [{ type: 'signature_delta', signature }] : []
    return { begin: { ...rest, type, thinking: '', signature: '' }, deltas: [...words, ...signed] }
  }
  if (input === undefined) return { begin: block, deltas: [] }
  const [...json] = JSON.stringify(input)
  return { begin: { ...rest, type, input: {} }, deltas: json.map((partial_json) => ({ type: 'input_json_delta', partial_json })) }
}

const add = defineTool({ name: 'add', description: 'Adds.', input: { type: 'object' }, execute: () => '3' })
const use: Block = { type: 'tool_use', id: 'toolu_1', name: 'add', input: { n: 1, of: ['ü'] } }
const signed = (thinking: string, signature: string): Block => ({ type: 'thinking', thinking, signature })
const text = (words: string, more: object = {}): Block => ({ type: 'text', text: words, ...more })
const unsigned: Block = { type: 'thinking', thinking: 'hm' }

function modelOn(fetch: typeof globalThis.fetch): ReturnType<typeof anthropic> {
  return anthropic({ model: 'claude-x', apiKey: 'k', fetch })
}

/** A line that is answered with these messages, one after the other, and then with 'done'. */
function line(...answers: readonly string[]): Wire {
  const left = [...answers]
  return wire(() => streamed([left.shift() ?? streamOf([text('done')], 'end_turn')]))
}

/** The content of the assistant's turns in the last request. */
function echoed({ sent }: Wire): unknown[] {
  const messages = sent.at(-1)?.body['messages'] as readonly { readonly role: string; readonly content: unknown }[]
  return messages.filter(({ role }) => role === 'assistant').map(({ content }) => content)
}

const server: Block[] = [
  { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
  { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [{ type: 'web_search_result', encrypted_content: 'E' }] },
]

const answers: [string, readonly Block[]][] = [
  ['thinking, text, thinking, a call', [signed('first', 'S1'), text('so'), signed('second', 'S2'), use]],
  ['thinking without words, a call', [signed('', 'S'), use]],
  ['redacted thinking between thinking', [signed('a', 'S1'), { type: 'redacted_thinking', data: 'D' }, signed('b', 'S2'), use]],
  ["the provider's own tools", [text('I look.'), ...server, text('Found.', { citations: [{ cited_text: 'x', url: 'u' }] }), use]],
  ['texts side by side', [text('a'), text('b'), text('c', { citations: [{ cited_text: 'x' }] }), text('d'), use]],
  ['a call of a program', [{ ...use, caller: { type: 'code_execution_20250825', tool_id: 'srvtoolu_1' } }]],
  ['a block of a type of tomorrow', [{ type: 'dream', of: ['sheep'] }, use]],
]

describe('goes back as it came', () => {
  test.for(answers)('%s', async ([, blocks]) => {
    const wired = line(streamOf(blocks, 'tool_use'))
    await new Agent({ model: modelOn(wired.fetch), tools: [add] }).run('go')
    expect(wired.sent.length).toBe(2)
    expect(echoed(wired)).toEqual([blocks])
  })

  test.for(answers)('%s, after the session was stored', async ([, blocks]) => {
    const wired = line(streamOf(blocks, 'tool_use'))
    const agent = new Agent({ model: modelOn(wired.fetch), tools: [add] })
    const { messages } = await agent.run('go')
    await agent.run('and now?', { session: memorySession({ messages: JSON.parse(JSON.stringify(messages)) as Message[] }) })
    expect(wired.sent.length).toBe(3)
    expect(echoed(wired)).toEqual([blocks, [text('done')]])
  })

  test('each at its place, where thinking is not signed', async () => {
    const wired = line(streamOf([unsigned, text('a'), { type: 'redacted_thinking', data: 'D' }, use], 'tool_use'))
    await new Agent({ model: modelOn(wired.fetch), tools: [add] }).run('go')
    expect(echoed(wired)).toEqual([[text('a'), { type: 'redacted_thinking', data: 'D' }, use]])
  })

  test('the sandbox that the call came from', async () => {
    const wired = line(streamOf([use], 'tool_use', { container: { id: 'c1', expires_at: 'later' } }))
    await new Agent({ model: modelOn(wired.fetch), tools: [add] }).run('go')
    expect(wired.sent[1]?.body['container']).toBe('c1')
  })
})

test('goes to no other provider in mid-session, and is there again afterwards', async () => {
  const blocks = [signed('secret', 'SECRET'), text('so', { citations: [{ cited_text: 'SECRET' }] }), ...server, use]
  const wired = line(streamOf(blocks, 'tool_use'))
  const session: Session = memorySession()
  await new Agent({ model: modelOn(wired.fetch), tools: [add] }).run('go', { session })

  const others = line()
  const elsewhere = anthropic({ model: 'm1', baseURL: 'https://acme.test', fetch: others.fetch })
  const other = scripted([{ text: 'hello' }])
  await new Agent({ model: other, tools: [add] }).run('you?', { session })
  await new Agent({ model: elsewhere, tools: [add] }).run('you?', { session })
  expect(JSON.stringify(other.calls)).not.toMatch(/SECRET|secret|srvtoolu|providerData/)
  expect(echoed(others)).toEqual([[text('so'), use], [text('done')], [text('hello')]])

  await new Agent({ model: modelOn(wired.fetch), tools: [add] }).run('back', { session })
  expect(echoed(wired)[0]).toEqual(blocks)
})

test('a call whose input is no JSON is answered with its text, and the model is asked again', async () => {
  const begin = { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a', name: 'add', input: {} } }
  const delta = { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"path": "x", }' } }
  const end = { type: 'message_delta', delta: { stop_reason: 'tool_use' } }
  const wired = line(events([begin, delta, end]))
  const { text: said } = await new Agent({ model: modelOn(wired.fetch), tools: [add] }).run('go')
  expect(said).toBe('done')
  expect(wired.sent.length).toBe(2)
  expect(wired.sent[1]?.body['messages']).toEqual([
    { role: 'user', content: [text('go')] },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'add', input: {} }] },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 'a',
          content: [{ type: 'text', text: expect.stringContaining('{"path": "x", }') }],
          is_error: true,
        },
      ],
    },
  ])
})
