import type { ModelPart } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { events, partsOf, streamed, wire } from '../testing/wire.ts'
import { openai } from './openai.ts'
import {
  added,
  argues,
  asks,
  call,
  calls,
  completed,
  delta,
  ended,
  message,
  opening,
  reasoning,
  says,
  search,
  stops,
  textEnd,
  thinks,
  thought,
  usage,
  whole,
} from './testing/events.ts'

const modelOn = (fetch: typeof globalThis.fetch) => openai({ model: 'gpt-5.2', apiKey: 'k', fetch })

type Case = readonly [name: string, stream: readonly object[], parts: readonly ModelPart[]]

const text: readonly Case[] = [
  [
    'text after its end, while it waits for what is before it',
    [added(0, reasoning()), ended(1, message('a')), delta('output_text', 1, 'b'), ended(0, reasoning()), completed()],
    [thought(reasoning()), says('a'), textEnd(), stops],
  ],
  [
    'deltas without an index or an end',
    [delta('output_text', undefined, 'a'), completed([{ type: 'reasoning' }, message('a')])],
    [says('a'), textEnd(), { type: 'reasoning_end', providerData: { type: 'reasoning' } }, stops],
  ],
  [
    'a refusal at the end only',
    [completed([{ ...message(''), content: [{ type: 'refusal', refusal: 'No.' }] }])],
    [says('No.'), textEnd(), stops],
  ],
  [
    'two messages under one index, without the list of them',
    [added(0, opening), ended(0, message('a')), added(0, { ...opening, id: 'msg_2' }), delta('output_text', 0, 'b'), completed()],
    [says('a'), textEnd(), says('b'), textEnd('msg_2'), stops],
  ],
  [
    'text',
    [
      { type: 'response.created', response: { status: 'in_progress', output: [], usage: null, error: null } },
      { type: 'response.in_progress', response: { status: 'in_progress', output: [], usage: null } },
      added(0, opening),
      { type: 'response.content_part.added', output_index: 0, content_index: 0, part: { type: 'output_text', text: '' } },
      delta('output_text', 0, 'Grüße ', { content_index: 0, item_id: 'msg_1' }),
      delta('output_text', 0, '東京 😀', { content_index: 0, item_id: 'msg_1' }),
      whole('output_text', 0, { content_index: 0, text: 'Grüße 東京 😀' }),
      {
        type: 'response.content_part.done',
        output_index: 0,
        content_index: 0,
        part: { type: 'output_text', text: 'Grüße 東京 😀' },
      },
      ended(0, message('Grüße 東京 😀')),
      completed([message('Grüße 東京 😀')], { usage }),
    ],
    [says('Grüße '), says('東京 😀'), textEnd(), { type: 'usage', usage: { inputTokens: 12, outputTokens: 7 } }, stops],
  ],
  [
    'deltas only',
    [delta('output_text', 0, 'a'), delta('output_text', 0, 'b'), completed()],
    [says('a'), says('b'), { type: 'text_end' }, stops],
  ],
  [
    'deltas without an index',
    [
      delta('output_text', undefined, 'a'),
      delta('output_text', undefined, 'b'),
      ended(0, message('ab')),
      completed([message('ab')]),
    ],
    [says('a'), says('b'), textEnd(), stops],
  ],
  [
    'text in output_text.done only',
    [whole('output_text', 0, { text: 'a' }), ended(0, message('a')), completed([message('a')])],
    [says('a'), textEnd(), stops],
  ],
  ['text in output_item.done only', [ended(0, message('a')), completed([message('a')])], [says('a'), textEnd(), stops]],
  ['text in response.completed only', [completed([message('a')])], [says('a'), textEnd(), stops]],
  [
    'the end of a text in response.completed only',
    [delta('output_text', 0, 'a'), completed([message('ab')])],
    [says('a'), says('b'), textEnd(), stops],
  ],
  [
    'an end that is not what was said',
    [delta('output_text', 0, 'a'), completed([message('xyz')])],
    [says('a'), textEnd(), stops],
  ],
  [
    'the end before the beginning',
    [
      ended(0, message('a')),
      added(0, opening),
      delta('output_text', 0, 'a'),
      whole('output_text', 0, { text: 'a' }),
      completed([message('a')]),
    ],
    [says('a'), textEnd(), stops],
  ],
  [
    'two contents in one message',
    [
      delta('output_text', 0, 'a', { content_index: 0 }),
      whole('output_text', 0, { content_index: 0, text: 'a' }),
      whole('output_text', 0, { content_index: 1, text: 'b' }),
      ended(0, {
        ...message('a'),
        content: [
          { type: 'output_text', text: 'a' },
          { type: 'refusal', refusal: 'b' },
        ],
      }),
      completed(),
    ],
    [says('a'), says('b'), textEnd(), stops],
  ],
  [
    'a refusal',
    [delta('refusal', 0, 'N'), delta('refusal', 0, 'o.'), whole('refusal', 0, { refusal: 'No.' }), completed()],
    [says('N'), says('o.'), { type: 'text_end' }, stops],
  ],
  [
    'an empty message',
    [added(0, opening), delta('output_text', 0, ''), ended(0, message('')), completed([message('')])],
    [stops],
  ],
  [
    'two messages, with a phase',
    [
      added(0, { ...opening, phase: 'commentary' }),
      delta('output_text', 0, 'a'),
      ended(0, { ...message('a'), phase: 'commentary' }),
      added(1, { ...opening, id: 'msg_2', phase: null }),
      delta('output_text', 1, 'b'),
      ended(1, { ...message('b', 'msg_2'), phase: null }),
      completed([message('a'), message('b', 'msg_2')]),
    ],
    [says('a'), { type: 'text_end', providerData: { id: 'msg_1', phase: 'commentary' } }, says('b'), textEnd('msg_2'), stops],
  ],
  [
    'two messages without indexes',
    [
      added(undefined, opening),
      delta('output_text', undefined, 'a'),
      ended(undefined, message('a')),
      added(undefined, { ...opening, id: 'msg_2' }),
      delta('output_text', undefined, 'b'),
      ended(undefined, message('b', 'msg_2')),
      completed([message('a'), message('b', 'msg_2')]),
    ],
    [says('a'), textEnd(), says('b'), textEnd('msg_2'), stops],
  ],
  [
    'two messages under one index',
    [
      added(0, opening),
      delta('output_text', 0, 'a'),
      ended(0, message('a')),
      added(0, { ...opening, id: 'msg_2' }),
      delta('output_text', 0, 'b'),
      ended(0, message('b', 'msg_2')),
      completed([message('a'), message('b', 'msg_2')]),
    ],
    [says('a'), textEnd(), says('b'), textEnd('msg_2'), stops],
  ],
  [
    'the first of two messages in response.completed only',
    [delta('output_text', 1, 'b'), completed([message('a'), message('b', 'msg_2')])],
    [says('b'), textEnd('msg_2'), says('a'), textEnd(), stops],
  ],
  [
    'another id in every event',
    [
      added(0, { ...opening, id: 'x1' }),
      delta('output_text', 0, 'a', { item_id: 'x2' }),
      delta('output_text', 0, 'b', { item_id: 'x3' }),
      ended(0, message('ab', 'x4')),
      completed([message('ab', 'x5')]),
    ],
    [says('a'), says('b'), textEnd('x4'), stops],
  ],
  [
    'one whole response where a stream was asked for',
    [{ object: 'response', status: 'completed', error: null, output: [message('a')], usage }],
    [says('a'), textEnd(), { type: 'usage', usage: { inputTokens: 12, outputTokens: 7 } }, stops],
  ],
  [
    'events that nobody knows, and odd values',
    [
      { type: 'response.telepathy.delta', delta: 'x' },
      { type: 7 },
      {},
      added(0, opening),
      { type: 'response.output_item.added', item: null },
      { type: 'response.output_item.done', item: [], output_index: {} },
      { type: 'response.output_text.delta', output_index: 0, delta: { text: 'x' } },
      { type: 'response.output_text.annotation.added', output_index: 0, annotation: 3 },
      delta('output_text', 0, 'a', { logprobs: 'no', obfuscation: 4, content_index: null }),
      {
        type: 'response.completed',
        response: { output: [null, 3, { type: 5 }, message('a')], usage: { input_tokens: '9', output_tokens: -1 } },
      },
    ],
    [says('a'), textEnd(), stops],
  ],
  [
    'all counts, in an early event',
    [
      {
        type: 'response.in_progress',
        response: {
          usage: {
            input_tokens: 9,
            output_tokens: 5,
            input_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
            output_tokens_details: { reasoning_tokens: 3 },
          },
        },
      },
      ended(0, message('a')),
      completed(),
    ],
    [
      says('a'),
      textEnd(),
      {
        type: 'usage',
        usage: { inputTokens: 9, outputTokens: 5, cachedInputTokens: 4, cacheWriteTokens: 2, reasoningTokens: 3 },
      },
      stops,
    ],
  ],
]

const reasoned: readonly Case[] = [
  [
    'a summary of two parts',
    [
      added(0, { ...reasoning(), encrypted_content: 'half' }),
      delta('reasoning_summary_text', 0, 'a', { summary_index: 0 }),
      delta('reasoning_summary_text', 0, 'b', { summary_index: 0 }),
      whole('reasoning_summary_text', 0, { summary_index: 0, text: 'ab' }),
      delta('reasoning_summary_text', 0, 'c', { summary_index: 1 }),
      ended(0, reasoning('ab', 'c')),
      ended(1, message('hi')),
      completed([reasoning('ab', 'c'), message('hi')]),
    ],
    [thinks('a'), thinks('b'), thinks('\n\nc'), thought(reasoning('ab', 'c')), says('hi'), textEnd(), stops],
  ],
  [
    'no summary',
    [added(0, reasoning()), ended(0, reasoning()), ended(1, message('hi')), completed()],
    [thought(reasoning()), says('hi'), textEnd(), stops],
  ],
  [
    'a summary at the end only',
    [completed([reasoning('a', 'b'), message('hi')])],
    [thinks('a\n\nb'), thought(reasoning('a', 'b')), says('hi'), textEnd(), stops],
  ],
  [
    'reasoning in the open',
    [
      delta('reasoning_text', 0, 'a', { content_index: 0 }),
      ended(0, { type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'a' }] }),
      ended(1, message('hi')),
      completed(),
    ],
    [
      thinks('a'),
      thought({ type: 'reasoning', summary: [], content: [{ type: 'reasoning_text', text: 'a' }] }),
      says('hi'),
      textEnd(),
      stops,
    ],
  ],
  [
    'reasoning that never ends, which is of no use later',
    [added(0, { ...reasoning(), encrypted_content: 'half' }), delta('reasoning_summary_text', 0, 'a'), completed()],
    [thinks('a'), { type: 'reasoning_end' }, stops],
  ],
  [
    'an end of reasoning after the text that follows it',
    [
      added(0, reasoning()),
      delta('output_text', 1, 'hi'),
      delta('reasoning_summary_text', 0, 'a'),
      ended(0, reasoning('a')),
      ended(1, message('hi')),
      completed(),
    ],
    [thinks('a'), thought(reasoning('a')), says('hi'), textEnd(), stops],
  ],
  [
    'several items of reasoning',
    [
      ended(0, reasoning('a')),
      ended(1, call('{}')),
      ended(2, { ...reasoning('b'), id: 'rs_2' }),
      ended(3, message('hi')),
      completed(),
    ],
    [
      thinks('a'),
      thought(reasoning('a')),
      argues('{}'),
      calls('{}'),
      thinks('b'),
      thought({ ...reasoning('b'), id: 'rs_2' }),
      says('hi'),
      textEnd(),
      asks,
    ],
  ],
  [
    'encrypted content that is another in each event',
    [
      ended(0, reasoning('a')),
      ended(1, message('hi')),
      completed([{ ...reasoning('a'), id: 'rs_9', encrypted_content: 'other' }, message('hi')]),
    ],
    [thinks('a'), thought(reasoning('a')), says('hi'), textEnd(), stops],
  ],
]

const called: readonly Case[] = [
  [
    'a beginning that comes again',
    [added(0, call('')), ended(0, call('{}')), added(0, call('')), completed()],
    [argues('{}'), calls('{}'), asks],
  ],
  [
    'two calls under one index, without the list of them',
    [ended(0, call('1')), ended(0, call('2', '2')), completed()],
    [argues('1'), calls('1'), argues('2', '2'), calls('2', '2'), asks],
  ],
  [
    'two calls without indexes at once',
    [
      added(undefined, call('')),
      added(undefined, call('', '2')),
      delta('function_call_arguments', undefined, '1', { item_id: 'fc_1' }),
      delta('function_call_arguments', undefined, '2', { item_id: 'fc_2' }),
      completed(),
    ],
    [argues('1'), calls('1'), argues('2', '2'), calls('2', '2'), asks],
  ],
  [
    'an id that comes late',
    [
      added(0, { type: 'function_call', id: 'fc_1', name: 'add' }),
      delta('function_call_arguments', 0, '{}'),
      ended(0, call('{}')),
      completed(),
    ],
    [argues('{}'), calls('{}'), asks],
  ],
  [
    'a call',
    [
      added(0, call('')),
      delta('function_call_arguments', 0, '{"ü'),
      delta('function_call_arguments', 0, '":"€"}'),
      whole('function_call_arguments', 0, { arguments: '{"ü":"€"}' }),
      ended(0, call('{"ü":"€"}')),
      completed([call('{"ü":"€"}')]),
    ],
    [argues('{"ü'), argues('":"€"}'), calls('{"ü":"€"}'), asks],
  ],
  [
    'two calls at once',
    [
      added(0, call('')),
      added(1, call('', '2', 'mul')),
      delta('function_call_arguments', 1, '{"b"'),
      delta('function_call_arguments', 0, '{"a"'),
      delta('function_call_arguments', 1, ':2}'),
      delta('function_call_arguments', 0, ':1}'),
      ended(1, call('{"b":2}', '2', 'mul')),
      ended(0, call('{"a":1}')),
      completed(),
    ],
    [
      argues('{"a"'),
      argues(':1}'),
      calls('{"a":1}'),
      argues('{"b"', '2', 'mul'),
      argues(':2}', '2', 'mul'),
      calls('{"b":2}', '2', 'mul'),
      asks,
    ],
  ],
  [
    'two calls under one index',
    [ended(0, call('1')), ended(0, call('2', '2')), completed([call('1'), call('2', '2')])],
    [argues('1'), calls('1'), argues('2', '2'), calls('2', '2'), asks],
  ],
  [
    'a text and a call under one index',
    [
      added(0, opening),
      added(0, call('')),
      delta('output_text', 0, 'a'),
      delta('function_call_arguments', 0, '{}'),
      completed([message('a'), call('{}')]),
    ],
    [says('a'), textEnd(), argues('{}'), calls('{}'), asks],
  ],
  ['a call at the end only', [completed([call('{}')])], [argues('{}'), calls('{}'), asks]],
  ['arguments at the end only', [added(0, call('')), ended(0, call('{}')), completed()], [argues('{}'), calls('{}'), asks]],
  [
    'arguments in their own end only',
    [added(0, call('')), whole('function_call_arguments', 0, { arguments: '{}' }), completed()],
    [argues('{}'), calls('{}'), asks],
  ],
  [
    'arguments before the call',
    [
      delta('function_call_arguments', 0, '{', { item_id: 'fc_1' }),
      added(0, call('')),
      delta('function_call_arguments', 0, '}'),
      completed(),
    ],
    [argues('{}'), calls('{}'), asks],
  ],
  ['no arguments', [added(0, call('')), ended(0, call('')), completed()], [calls(''), asks]],
  [
    'arguments as an object',
    [ended(0, { ...call(''), arguments: { n: 1 } }), completed()],
    [argues('{"n":1}'), calls('{"n":1}'), asks],
  ],
  [
    'a call without an id for its result',
    [added(0, { type: 'function_call', id: 'fc_1', name: 'add' }), delta('function_call_arguments', 0, '{}'), completed()],
    [
      { type: 'tool_call_delta', callId: 'fc_1', toolName: 'add', delta: '{}' },
      { ...calls('{}'), callId: 'fc_1' } as ModelPart,
      asks,
    ],
  ],
  [
    'a call with what belongs to it',
    [ended(0, { ...call('{}'), namespace: 'math', caller: { type: 'program', caller_id: 'p' } }), completed()],
    [
      argues('{}'),
      {
        ...calls('{}'),
        providerData: { id: 'fc_1', namespace: 'math', caller: { type: 'program', caller_id: 'p' } },
      } as ModelPart,
      asks,
    ],
  ],
]

const others: readonly Case[] = [
  [
    'an item that nobody here knows, in its place',
    [
      ended(0, reasoning('a')),
      added(1, search),
      { type: 'response.web_search_call.searching', output_index: 1 },
      ended(1, search),
      ended(2, message('hi')),
      completed([reasoning('a'), search, message('hi')]),
    ],
    [thinks('a'), thought(reasoning('a')), { type: 'raw', value: search }, thought(search), says('hi'), textEnd(), stops],
  ],
  [
    'an item that nobody here knows, at the end only',
    [completed([search, message('hi')])],
    [{ type: 'raw', value: search }, thought(search), says('hi'), textEnd(), stops],
  ],
]

const incomplete = (reason?: string): object => ({
  type: 'response.incomplete',
  response: { status: 'incomplete', incomplete_details: reason ? { reason } : null, output: [message('a')] },
})
const finishes: readonly Case[] = [
  [
    'no more tokens',
    [incomplete('max_output_tokens')],
    [says('a'), textEnd(), { type: 'finish', reason: 'length', rawReason: 'max_output_tokens' }],
  ],
  [
    'a filter',
    [incomplete('content_filter')],
    [says('a'), textEnd(), { type: 'finish', reason: 'content_filter', rawReason: 'content_filter' }],
  ],
  [
    'a reason of its own',
    [incomplete('constructor')],
    [says('a'), textEnd(), { type: 'finish', reason: 'other', rawReason: 'constructor' }],
  ],
  ['no reason', [incomplete()], [says('a'), textEnd(), { type: 'finish', reason: 'other', rawReason: 'incomplete' }]],
  [
    'no more tokens in a call',
    [
      added(0, call('')),
      delta('function_call_arguments', 0, '{"n'),
      { type: 'response.incomplete', response: { incomplete_details: { reason: 'max_output_tokens' } } },
    ],
    [argues('{"n'), calls('{"n'), { type: 'finish', reason: 'length', rawReason: 'max_output_tokens' }],
  ],
  [
    'a last event that says nothing',
    [delta('output_text', 0, 'a'), { type: 'response.completed' }],
    [says('a'), { type: 'text_end' }, stops],
  ],
  [
    'a last event of another name',
    [delta('output_text', 0, 'a'), { type: 'response.done', response: {} }],
    [says('a'), { type: 'text_end' }, stops],
  ],
  [
    'a response that was cancelled',
    [delta('output_text', 0, 'a'), { type: 'response.cancelled', response: {} }],
    [says('a'), { type: 'text_end' }, { type: 'finish', reason: 'other', rawReason: 'cancelled' }],
  ],
]

const all = [...text, ...reasoned, ...called, ...others, ...finishes]

describe('a stream of', () => {
  test.for(all)('%s', async ([, stream, parts]) => {
    expect(await partsOf(modelOn(wire(() => streamed([events(stream)])).fetch))).toEqual(parts)
  })

  test('[DONE] in place of the last event', async () => {
    const parts = await partsOf(modelOn(wire(() => streamed([events([delta('output_text', 0, 'a')]), 'data: [DONE]\n\n'])).fetch))
    expect(parts).toEqual([says('a'), { type: 'text_end' }, { type: 'finish', reason: 'stop' }])
  })

  test('text is told while it comes', async () => {
    const body = new ReadableStream<Uint8Array>({
      start: (controller) =>
        controller.enqueue(new TextEncoder().encode(events([added(0, opening), delta('output_text', 0, 'a')]))),
    })
    const model = modelOn(() => Promise.resolve(new Response(body)))
    for await (const part of model.stream({ messages: [], tools: [] }, { signal: new AbortController().signal })) {
      expect(part).toEqual(says('a'))
      break
    }
  })

  test('one whole response without the frame of an event', async () => {
    const response = JSON.stringify({ object: 'response', status: 'completed', output: [message('a'), call('{}', '1')] })
    const parts = await partsOf(modelOn(wire(() => new Response(response)).fetch))
    expect(parts).toEqual([says('a'), textEnd(), argues('{}'), calls('{}'), asks])
  })
})
