import type { ModelPart } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { events, expectSameAtEveryBorder, partsOf, streamed, wire } from '../testing/wire.ts'
import { anthropic } from './anthropic.ts'

const start = { type: 'message_start', message: { id: 'm', role: 'assistant', content: [], stop_reason: null } }
const stop = { type: 'message_stop' }
const ends = (reason: unknown) => ({ type: 'message_delta', delta: { stop_reason: reason } })
const begin = (index: unknown, content_block: object) => ({ type: 'content_block_start', index, content_block })
const delta = (index: unknown, fields: object) => ({ type: 'content_block_delta', index, delta: fields })
const end = (index: unknown) => ({ type: 'content_block_stop', index })
const text = (words: string) => ({ type: 'text_delta', text: words })
const json = (piece: unknown) => ({ type: 'input_json_delta', partial_json: piece })
const add = { type: 'tool_use', id: 'a', name: 'add', input: {} }
const call = (args: string, more: object = {}) => ({ type: 'tool_call', callId: 'a', toolName: 'add', args, ...more })
const piece = (words: string) => ({ type: 'tool_call_delta', callId: 'a', toolName: 'add', delta: words })
const search = { type: 'server_tool_use', id: 's', name: 'web_search', input: {} }
const opaque = (block: object) => [
  { type: 'raw', value: block },
  { type: 'reasoning_end', providerData: block },
]

const modelOn = (fetch: typeof globalThis.fetch) => anthropic({ model: 'claude-x', apiKey: 'k', fetch })
const answered = (payloads: readonly object[]): Promise<ModelPart[]> =>
  partsOf(modelOn(wire(() => streamed([events(payloads)])).fetch))

describe('the parts of', () => {
  test.for<[string, readonly object[], readonly object[]]>([
    [
      'text',
      [begin(0, { type: 'text', text: '' }), delta(0, text('a')), delta(0, text('b')), end(0)],
      [text('a'), text('b'), { type: 'text_end' }],
    ],
    [
      'two texts, which stay apart',
      [
        begin(0, { type: 'text', text: '' }),
        delta(0, text('a')),
        end(0),
        begin(1, { type: 'text' }),
        delta(1, text('b')),
        end(1),
      ],
      [text('a'), { type: 'text_end' }, text('b'), { type: 'text_end' }],
    ],
    ['a text that stays empty', [begin(0, { type: 'text', text: '' }), delta(0, text('')), end(0)], []],
    [
      'text with its sources',
      [
        begin(0, { type: 'text', text: '', citations: [] }),
        delta(0, { type: 'citations_delta', citation: { cited_text: 'x' } }),
        delta(0, text('a')),
        delta(0, { type: 'citations_delta', citation: { cited_text: 'y' } }),
        end(0),
      ],
      [text('a'), { type: 'text_end', providerData: { citations: [{ cited_text: 'x' }, { cited_text: 'y' }] } }],
    ],
    [
      'thinking',
      [
        begin(0, { type: 'thinking', thinking: '', signature: '' }),
        delta(0, { type: 'thinking_delta', thinking: 'h' }),
        delta(0, { type: 'thinking_delta', thinking: 'm' }),
        delta(0, { type: 'signature_delta', signature: 'S' }),
        end(0),
      ],
      [
        { type: 'reasoning_delta', text: 'h' },
        { type: 'reasoning_delta', text: 'm' },
        { type: 'reasoning_end', providerData: { signature: 'S' } },
      ],
    ],
    [
      'thinking without words',
      [begin(0, { type: 'thinking', thinking: '' }), delta(0, { type: 'signature_delta', signature: 'S' }), end(0)],
      [{ type: 'reasoning_end', providerData: { signature: 'S' } }],
    ],
    [
      'thinking that nobody signed',
      [begin(0, { type: 'thinking', thinking: '' }), delta(0, { type: 'thinking_delta', thinking: 'h' }), end(0)],
      [{ type: 'reasoning_delta', text: 'h' }, { type: 'reasoning_end' }],
    ],
    [
      'redacted thinking',
      [begin(0, { type: 'redacted_thinking', data: 'D' }), end(0)],
      opaque({ type: 'redacted_thinking', data: 'D' }),
    ],
    [
      'a call',
      [begin(0, add), delta(0, json('')), delta(0, json('{"n"')), delta(0, json(':1}')), end(0)],
      [piece('{"n"'), piece(':1}'), call('{"n":1}')],
    ],
    ['a call without input', [begin(0, add), delta(0, json('')), end(0)], [call('')]],
    [
      'a call whose input came at once, with its caller',
      [begin(0, { ...add, input: { n: 1 }, caller: { type: 'direct' } }), end(0)],
      [call('{"n":1}', { providerData: { caller: { type: 'direct' } } })],
    ],
    [
      'a call whose input came twice',
      [begin(0, { ...add, input: { n: 1 } }), delta(0, json('{"n":2}')), end(0)],
      [piece('{"n":2}'), call('{"n":2}')],
    ],
    [
      'a call whose input is no JSON',
      [begin(0, add), delta(0, json('{"n": 1, }')), end(0)],
      [piece('{"n": 1, }'), call('{"n": 1, }')],
    ],
    [
      "the provider's own tool, whose input is put together",
      [
        begin(0, search),
        delta(0, json('{"q":')),
        delta(0, json('"x"}')),
        end(0),
        begin(1, { type: 'web_search_tool_result', content: [] }),
        end(1),
      ],
      [...opaque({ ...search, input: { q: 'x' } }), ...opaque({ type: 'web_search_tool_result', content: [] })],
    ],
    ["the provider's own tool, whose input is no JSON", [begin(0, search), delta(0, json('{"q":')), end(0)], opaque(search)],
    [
      'a block of a type of tomorrow',
      [begin(0, { type: 'dream', of: ['sheep'] }), delta(0, { type: 'dream_delta', more: 1 }), end(0)],
      opaque({ type: 'dream', of: ['sheep'] }),
    ],
    [
      'blocks that begin with their content',
      [
        begin(0, { type: 'text', text: 'a' }),
        delta(0, text('b')),
        end(0),
        begin(1, { type: 'thinking', thinking: 'h', signature: 'S' }),
        end(1),
      ],
      [
        text('a'),
        text('b'),
        { type: 'text_end' },
        { type: 'reasoning_delta', text: 'h' },
        { type: 'reasoning_end', providerData: { signature: 'S' } },
      ],
    ],
    [
      'blocks whose ends are missing',
      [begin(0, { type: 'text' }), delta(0, text('a')), begin(1, add), delta(1, json('{}'))],
      [text('a'), { type: 'text_end' }, piece('{}'), call('{}')],
    ],
    [
      'blocks whose end comes late',
      [begin(0, { type: 'text' }), delta(0, text('a')), begin(1, { type: 'text' }), end(0), delta(1, text('b')), end(1)],
      [text('a'), { type: 'text_end' }, text('b'), { type: 'text_end' }],
    ],
    [
      'blocks without an index',
      [
        begin(undefined, { type: 'text' }),
        delta(undefined, text('a')),
        end(undefined),
        begin(undefined, add),
        delta(null, json('{}')),
        end('0'),
      ],
      [text('a'), { type: 'text_end' }, piece('{}'), call('{}')],
    ],
    [
      'calls that are told in turns',
      [
        begin(0, add),
        begin(1, { ...add, id: 'b' }),
        delta(0, json('{"n"')),
        delta(1, json('{')),
        delta(0, json(':1}')),
        delta(1, json('}')),
        end(0),
        end(1),
      ],
      [
        piece('{"n"'),
        { ...piece('{'), callId: 'b' },
        piece(':1}'),
        { ...piece('}'), callId: 'b' },
        call('{"n":1}'),
        { ...call('{}'), callId: 'b' },
      ],
    ],
    [
      'two calls of one index',
      [begin(0, add), delta(0, json('{}')), begin(0, { ...add, id: 'b' }), end(0)],
      [piece('{}'), call('{}'), { ...call(''), callId: 'b' }],
    ],
    [
      'a message that is there from the beginning',
      [
        {
          type: 'message_start',
          message: {
            content: [
              { type: 'text', text: 'a' },
              { ...add, input: { n: 1 } },
            ],
          },
        },
      ],
      [text('a'), { type: 'text_end' }, call('{"n":1}')],
    ],
    [
      'a message with odd values',
      [
        { type: 'ping' },
        { type: 7 },
        {},
        { type: 'message_start' },
        begin(0, []),
        begin(0, { type: null }),
        { type: 'content_block_delta', index: 0 },
        delta(9, text('x')),
        end(9),
        { type: 'content_block_delta', delta: 'x' },
        { type: 'message_delta', delta: 3, usage: 'x' },
        begin(0, { type: 'text', text: 7 }),
        delta(0, { type: 'text_delta', text: {} }),
        delta(0, { type: 'text_delta', text: 'a', citation: undefined }),
        end(0),
      ],
      [...opaque({ type: null }), text('a'), { type: 'text_end' }],
    ],
  ])('%s', async ([, payloads, parts]) => {
    const reason = parts.some((part) => 'args' in part) ? 'tool_use' : 'end_turn'
    const finish = { type: 'finish', reason: reason === 'tool_use' ? 'tool_calls' : 'stop', rawReason: reason }
    expect(await answered([start, ...payloads, ends(reason), stop])).toEqual([...parts, finish])
  })

  test('a whole message, from a server that does not stream', async () => {
    const body = {
      type: 'message',
      content: [{ type: 'text', text: 'a' }],
      stop_reason: 'end_turn',
      usage: { input_tokens: 1, output_tokens: 2 },
    }
    const model = modelOn(wire(() => Response.json(body)).fetch)
    expect(await partsOf(model)).toEqual([
      text('a'),
      { type: 'text_end' },
      { type: 'usage', usage: { inputTokens: 1, outputTokens: 2 } },
      { type: 'finish', reason: 'stop', rawReason: 'end_turn' },
    ])
  })
})

describe('the reason', () => {
  test.for([
    ['end_turn', 'stop'],
    ['stop_sequence', 'stop'],
    ['tool_use', 'tool_calls'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['refusal', 'content_filter'],
    ['pause_turn', 'other'],
    ['boredom', 'other'],
  ])('%s is %s', async ([rawReason, reason]) => {
    expect((await answered([start, ends(rawReason), stop])).at(-1)).toEqual({ type: 'finish', reason, rawReason })
  })

  test('is the calls, where the server says that all is well', async () => {
    expect((await answered([start, begin(0, add), end(0), ends('end_turn'), stop])).at(-1)).toMatchObject({
      reason: 'tool_calls',
    })
    expect((await answered([start, begin(0, add), ends('end_turn'), stop])).at(-1)).toMatchObject({ reason: 'tool_calls' })
  })

  test('is what there is, where the server gives none', async () => {
    expect((await answered([start, begin(0, { type: 'text', text: 'a' }), stop])).at(-1)).toEqual({
      type: 'finish',
      reason: 'stop',
    })
    expect((await answered([start, stop])).at(-1)).toEqual({ type: 'finish', reason: 'other' })
  })

  test('is enough: the message need not be said to stop', async () => {
    expect((await answered([start, ends('end_turn')])).at(-1)).toMatchObject({ reason: 'stop' })
  })
})

describe('the usage', () => {
  test.for([
    [[{ input_tokens: 3, output_tokens: 1 }, { output_tokens: 9 }], { inputTokens: 3, outputTokens: 9 }],
    [[{ input_tokens: 3 }, { input_tokens: 5, output_tokens: 9 }], { inputTokens: 5, outputTokens: 9 }],
    [
      [{ input_tokens: 3 }, { input_tokens: null, output_tokens: 9 }, { output_tokens: 10 }],
      { inputTokens: 3, outputTokens: 10 },
    ],
    [
      [
        { input_tokens: 3, cache_read_input_tokens: 20, cache_creation_input_tokens: 100 },
        { output_tokens: 9, cache_read_input_tokens: null },
      ],
      { inputTokens: 123, outputTokens: 9, cachedInputTokens: 20, cacheWriteTokens: 100 },
    ],
    [
      [{ input_tokens: 3 }, { output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } }],
      { inputTokens: 3, outputTokens: 9, reasoningTokens: 4 },
    ],
    [[{ input_tokens: '3' }, { output_tokens: 9 }], { inputTokens: 0, outputTokens: 9 }],
  ] as const)('of %j is %j', async ([[first, ...later], usage]) => {
    const deltas = later.map((report) => ({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: report }))
    const parts = await answered([{ type: 'message_start', message: { usage: first } }, ...deltas, stop])
    expect(parts).toEqual([
      { type: 'usage', usage },
      { type: 'finish', reason: 'stop', rawReason: 'end_turn' },
    ])
  })
})

test('a stream gives the same parts wherever it is cut', { timeout: 60_000 }, async () => {
  const payloads = [
    start,
    begin(0, { type: 'thinking', thinking: '' }),
    delta(0, { type: 'thinking_delta', thinking: '東京 😀' }),
    delta(0, { type: 'signature_delta', signature: 'S' }),
    end(0),
    begin(1, add),
    delta(1, json('{"ü":')),
    delta(1, json('"€"}')),
    end(1),
    { ...ends('tool_use'), usage: { output_tokens: 2 } },
    stop,
  ]
  const expected = [
    { type: 'reasoning_delta', text: '東京 😀' },
    { type: 'reasoning_end', providerData: { signature: 'S' } },
    piece('{"ü":'),
    piece('"€"}'),
    call('{"ü":"€"}'),
    { type: 'usage', usage: { inputTokens: 0, outputTokens: 2 } },
    { type: 'finish', reason: 'tool_calls', rawReason: 'tool_use' },
  ] as ModelPart[]
  expect(await answered(payloads)).toEqual(expected)
  await expectSameAtEveryBorder(modelOn, events(payloads), expected)
})
