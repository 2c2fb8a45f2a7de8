import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { partsOf } from '../testing/wire.ts'
import { openaiCompatible } from './openai-compatible.ts'
import { answerOf, calls, delta, done, fragment, hi, no, nothing, one, sent, stop } from './testing/chunks.ts'
import type { Answer } from './testing/chunks.ts'

interface Case {
  readonly name: string
  readonly stream: readonly string[]
  readonly answer: Partial<Answer>
  readonly type?: string
}

const tokens = { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 }
const usage = { inputTokens: 12, outputTokens: 7 }

const cases: readonly Case[] = [
  { name: 'text', stream: [hi, delta({ content: ' there' }), stop, done], answer: { text: 'hi there' } },
  { name: 'finish reason without [DONE]', stream: [hi, stop], answer: { text: 'hi' } },
  { name: '[DONE] without a finish reason', stream: [hi, done], answer: { text: 'hi', raw: undefined } },
  { name: '[DONE] and nothing else', stream: [delta({ role: 'assistant' }), done], answer: { reason: 'other', raw: undefined } },
  { name: 'no blank line at the end', stream: [hi, stop.trimEnd()], answer: { text: 'hi' } },
  { name: 'role as an empty string', stream: [delta({ role: '', content: 'hi' }), stop, done], answer: { text: 'hi' } },
  {
    name: 'odd values in fields that do not matter',
    stream: [
      sent({
        id: null,
        created: 'now',
        model: 7,
        service_tier: [],
        choices: [{ index: 'x', delta: { content: 'hi', role: 3, audio: false }, logprobs: 'no' }],
      }),
      stop,
      done,
    ],
    answer: { text: 'hi' },
  },
  {
    name: 'payloads that are no objects',
    stream: [...[null, 7, true, 'text', [], [{ choices: 1 }]].map(sent), 'data: keep-alive\n\n', hi, stop, done],
    answer: { text: 'hi' },
  },
  {
    name: 'objects that are no chunks',
    stream: [{}, { choices: null }, { choices: [null] }, { choices: [{ delta: 5 }] }, { choices: {} }]
      .map(sent)
      .concat(hi, stop, done),
    answer: { text: 'hi' },
  },
  {
    name: 'comments in every form',
    stream: [': PROCESSING\n\n', ':\n', ':x\n', hi, ': ping\n\n', stop, ': bye\n\n', done],
    answer: { text: 'hi' },
  },
  {
    name: 'a comment block after an id',
    stream: ['id: 1\n', hi, ': ping\n\n', delta({ content: '!' }), stop, done],
    answer: { text: 'hi!' },
  },
  {
    name: 'blocks without data',
    stream: ['event: ping\n\n', 'retry: 3\n\n', 'data:\n\n', hi, 'id\n\n', stop, done],
    answer: { text: 'hi' },
  },
  {
    name: 'content as a list',
    stream: [delta({ content: [{ type: 'text', text: 'hi' }, { type: 'thinking', text: 'x' }, 3] }), stop],
    answer: { text: 'hi' },
  },
  { name: 'a refusal', stream: [delta({ content: null, refusal: 'No.' }), stop], answer: { text: 'No.' } },
  {
    name: 'one whole message where a stream was asked for',
    stream: [
      JSON.stringify({
        choices: [{ message: { content: 'hi', tool_calls: [fragment([no, 'a', 'add', '{}'])] }, finish_reason: 'tool_calls' }],
        usage: tokens,
      }),
    ],
    answer: { text: 'hi', calls: one('{}'), reason: 'tool_calls', raw: 'tool_calls', usage },
  },
  { name: 'a stream that is called JSON', stream: [hi, stop, done], type: 'application/json', answer: { text: 'hi' } },
  {
    name: 'a last chunk that repeats the message',
    stream: [hi, sent({ choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }] })],
    answer: { text: 'hi' },
  },

  { name: 'usage, last, without choices', stream: [hi, stop, sent({ usage: tokens }), done], answer: { text: 'hi', usage } },
  {
    name: 'usage, last, with empty choices',
    stream: [hi, stop, sent({ choices: [], usage: tokens }), done],
    answer: { text: 'hi', usage },
  },
  {
    name: 'empty choices first',
    stream: [sent({ choices: [], usage: null }), hi, stop, sent({ choices: [], usage: tokens }), done],
    answer: { text: 'hi', usage },
  },
  {
    name: 'usage on every chunk',
    stream: [
      sent({ choices: [{ delta: { content: 'hi' } }], usage: { prompt_tokens: 12, completion_tokens: 1 } }),
      stop,
      sent({ usage: tokens }),
      done,
    ],
    answer: { text: 'hi', usage },
  },
  {
    name: 'cumulative usage on every chunk, and null at the end',
    stream: [
      sent({ choices: [{ delta: { content: 'hi' } }], usage: { prompt_tokens: 12, completion_tokens: 1 } }),
      sent({ choices: [{ delta: {}, finish_reason: 'stop' }], usage: tokens }),
      sent({ choices: [], usage: null }),
      done,
    ],
    answer: { text: 'hi', usage },
  },
  {
    name: 'zeros after the usage',
    stream: [hi, sent({ usage: tokens }), stop, sent({ usage: { prompt_tokens: 0, completion_tokens: 0 } }), done],
    answer: { text: 'hi', usage },
  },
  {
    name: 'usage within the choice',
    stream: [hi, sent({ choices: [{ delta: {}, finish_reason: 'stop', usage: { ...tokens, cached_tokens: 5 } }] })],
    answer: { text: 'hi', usage: { ...usage, cachedInputTokens: 5 } },
  },
  {
    name: 'usage in a field of the server',
    stream: [hi, sent({ choices: [{ delta: {}, finish_reason: 'stop' }], x_groq: { usage: tokens } })],
    answer: { text: 'hi', usage },
  },
  {
    name: 'cached tokens, as DeepSeek names them',
    stream: [hi, stop, sent({ usage: { ...tokens, prompt_cache_hit_tokens: 4, prompt_cache_miss_tokens: 8 } })],
    answer: { text: 'hi', usage: { ...usage, cachedInputTokens: 4 } },
  },
  {
    name: 'cached tokens, as Anthropic names and counts them',
    stream: [hi, stop, sent({ usage: { ...tokens, cache_read_input_tokens: 100, cache_creation_input_tokens: 20 } })],
    answer: { text: 'hi', usage: { inputTokens: 132, outputTokens: 7, cachedInputTokens: 100, cacheWriteTokens: 20 } },
  },
  {
    name: 'usage in the words of the Responses API',
    stream: [hi, stop, sent({ usage: { input_tokens: 12, output_tokens: 7, input_tokens_details: { cached_tokens: 3 } } })],
    answer: { text: 'hi', usage: { ...usage, cachedInputTokens: 3 } },
  },
  {
    name: 'usage in an early chunk only',
    stream: [sent({ choices: [], usage: tokens }), hi, stop, done],
    answer: { text: 'hi', usage },
  },
  {
    name: 'usage of no numbers',
    stream: [hi, stop, sent({ choices: [], usage: { prompt_tokens: 'many', completion_tokens: -1 } }), done],
    answer: { text: 'hi' },
  },
  {
    name: 'absurd counts beside sound ones',
    stream: [
      hi,
      stop,
      sent({ usage: { ...tokens, cached_tokens: 1e308, cache_creation_input_tokens: 1e308, total_tokens: 'x' } }),
    ],
    answer: { text: 'hi', usage },
  },
  {
    name: 'cached and reasoning tokens',
    stream: [
      hi,
      stop,
      sent({
        usage: {
          ...tokens,
          prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
          completion_tokens_details: { reasoning_tokens: 3 },
        },
      }),
    ],
    answer: { text: 'hi', usage: { ...usage, cachedInputTokens: 4, cacheWriteTokens: 2, reasoningTokens: 3 } },
  },
  {
    name: 'reasoning tokens counted beside the completion',
    stream: [
      hi,
      stop,
      sent({
        usage: { prompt_tokens: 12, completion_tokens: 7, total_tokens: 22, completion_tokens_details: { reasoning_tokens: 3 } },
      }),
    ],
    answer: { text: 'hi', usage: { inputTokens: 12, outputTokens: 10, reasoningTokens: 3 } },
  },

  {
    name: 'reasoning_content',
    stream: [delta({ reasoning_content: 'hm', content: null }), hi, stop],
    answer: { reasoning: 'hm', text: 'hi' },
  },
  { name: 'reasoning', stream: [delta({ reasoning: 'hm' }), hi, stop], answer: { reasoning: 'hm', text: 'hi' } },
  {
    name: 'the same reasoning under both names',
    stream: [delta({ reasoning: 'hm', reasoning_content: 'hm' }), hi, stop],
    answer: { reasoning: 'hm', text: 'hi' },
  },

  { name: 'finish reason length', stream: [hi, delta({}, 'length')], answer: { text: 'hi', reason: 'length', raw: 'length' } },
  {
    name: 'a finish reason of its own',
    stream: [hi, delta({}, 'malformed_function_call')],
    answer: { text: 'hi', reason: 'other', raw: 'malformed_function_call' },
  },
  {
    name: 'a finish reason named like a method',
    stream: [hi, delta({}, 'constructor')],
    answer: { text: 'hi', reason: 'other', raw: 'constructor' },
  },
  {
    name: 'stop beside a call',
    stream: [calls([0, 'a', 'add', '{}']), stop],
    answer: { calls: one('{}'), reason: 'tool_calls', raw: 'stop' },
  },
  {
    name: 'length beside a call',
    stream: [calls([0, 'a', 'add', '{"n']), delta({}, 'length')],
    answer: { calls: one('{"n'), reason: 'length', raw: 'length' },
  },
  {
    name: 'tool_calls without a call',
    stream: [hi, delta({ tool_calls: [] }, 'tool_calls')],
    answer: { text: 'hi', reason: 'tool_calls', raw: 'tool_calls' },
  },
  {
    name: 'the finish reason in the chunk of the call',
    stream: [delta({ tool_calls: [fragment([0, 'a', 'add', '{}'])] }, 'tool_calls')],
    answer: { calls: one('{}'), reason: 'tool_calls', raw: 'tool_calls' },
  },

  {
    name: 'several choices, of which the first by index counts',
    stream: [
      sent({
        choices: [
          { index: 1, delta: { content: 'no' } },
          { index: 0, delta: { content: 'hi' } },
        ],
      }),
      sent({ choices: [{ index: 1, delta: { content: ', no' }, finish_reason: 'length' }] }),
      sent({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] }),
      sent({ choices: [{ index: 2, delta: { content: 'no' }, finish_reason: 'length' }] }),
      done,
    ],
    answer: { text: 'hi' },
  },
  {
    name: 'one choice, of another index than the first',
    stream: [
      sent({ choices: [{ index: 1, delta: { content: 'h' }, finish_reason: null }] }),
      sent({ choices: [{ index: 1, delta: { content: 'i' }, finish_reason: 'stop' }] }),
    ],
    answer: { text: 'hi' },
  },
  {
    name: 'one answer spread over two choices',
    stream: [
      JSON.stringify({
        choices: [
          { index: 0, message: { content: 'hi' }, finish_reason: 'tool_calls' },
          { index: 0, message: { tool_calls: [fragment([no, 'a', 'add', '{}'])] }, finish_reason: 'tool_calls' },
        ],
      }),
    ],
    answer: { text: 'hi', calls: one('{}'), reason: 'tool_calls', raw: 'tool_calls' },
  },
  {
    name: 'deltas of null, and none',
    stream: [
      sent({ choices: [], prompt_filter_results: [{ prompt_index: 0 }] }),
      sent({ choices: [{ index: 0, delta: null, finish_reason: null }] }),
      hi,
      sent({ choices: [{ index: 0, finish_reason: null, content_filter_offsets: { check_offset: 4 } }] }),
      stop,
      sent({ choices: [{ index: 0, finish_reason: null, content_filter_results: {} }] }),
      done,
    ],
    answer: { text: 'hi' },
  },
  {
    name: 'a finish reason of null or nothing, then [DONE]',
    stream: [hi, delta({}, ''), delta({}, null), done],
    answer: { text: 'hi', raw: undefined },
  },
  {
    name: 'a finish reason before the last pieces',
    stream: [calls([0, 'a', 'add', '{"n']), delta({}, 'tool_calls'), calls([0, no, no, '":1}']), done],
    answer: { calls: one('{"n":1}'), reason: 'tool_calls', raw: 'tool_calls' },
  },
  {
    name: 'a finish reason on every chunk',
    stream: [delta({ content: 'h' }, 'stop'), delta({ content: 'i' }, 'stop'), done],
    answer: { text: 'hi' },
  },
  ...(
    [
      ['STOP', 'stop'],
      ['eos', 'stop'],
      ['end_turn', 'stop'],
      ['MAX_TOKENS', 'length'],
      ['model_length', 'length'],
      ['SAFETY', 'content_filter'],
      ['sensitive', 'content_filter'],
      ['error', 'error'],
      ['abort', 'error'],
      ['insufficient_system_resource', 'error'],
    ] as const
  ).map(([raw, reason]) => ({
    name: `finish reason ${raw}`,
    stream: [hi, delta({}, raw), done],
    answer: { text: 'hi', reason, raw },
  })),
  {
    name: 'tool calls only in a last message',
    stream: [
      hi,
      sent({
        choices: [
          {
            delta: {},
            message: { content: 'hi', tool_calls: [fragment([no, 'a', 'add', '{}'])] },
            finish_reason: 'tool_calls',
          },
        ],
      }),
    ],
    answer: { text: 'hi', calls: one('{}'), reason: 'tool_calls', raw: 'tool_calls' },
  },
  {
    name: 'tool calls repeated in a last message',
    stream: [
      delta({ reasoning: 'hm' }),
      calls([0, 'a', 'add', '{}']),
      sent({
        choices: [
          { message: { reasoning: 'hm', content: null, tool_calls: [fragment([no, no, 'add', '{}'])] }, finish_reason: 'stop' },
        ],
      }),
    ],
    answer: { reasoning: 'hm', calls: one('{}'), reason: 'tool_calls' },
  },
  {
    name: 'messages that grow in place of deltas',
    stream: ['h', 'hi', 'hi t', 'hi there'].map((content) => sent({ choices: [{ message: { content } }] })).concat(stop),
    answer: { text: 'hi there' },
  },
  { name: 'spaces around [DONE]', stream: [hi, 'data:   [DONE]  \n\n', stop], answer: { text: 'hi', raw: undefined } },
  {
    name: 'no space before the data',
    stream: [hi, stop, done].map((event) => event.replace('data: ', 'data:')),
    answer: { text: 'hi' },
  },
  { name: 'data after [DONE]', stream: [hi, stop, done, delta({ content: '!' }), sent({ error: 'no' })], answer: { text: 'hi' } },
  { name: 'frames within frames', stream: [hi, stop, done].map((event) => `data: ${event}`), answer: { text: 'hi' } },
  {
    name: 'JSON over several lines of data',
    stream: [JSON.stringify({ choices: [{ delta: { content: 'hi' } }] }, null, 2).replace(/^/gm, 'data: '), '\n\n', stop],
    answer: { text: 'hi' },
  },
  {
    name: 'JSON line by line',
    stream: ['\n', ...[hi, stop, done].map((event) => event.replace('data: ', '').trimEnd() + '\n')],
    answer: { text: 'hi' },
  },
  {
    name: 'one whole message, over several lines, after a mark and blank lines',
    stream: ['\uFEFF\r\n\n', JSON.stringify({ choices: [{ message: { content: 'hi' }, finish_reason: 'stop' }] }, null, 2)],
    answer: { text: 'hi' },
  },
  {
    name: 'an error that is none',
    stream: [
      sent({ error: null, choices: [{ delta: { content: 'hi' } }] }),
      sent({ error: {}, message: 'x', choices: [] }),
      stop,
    ],
    answer: { text: 'hi' },
  },
]

const server = createServer((request, response) => {
  void text(request).then((body) => {
    const { model } = JSON.parse(body) as { model: string }
    const { stream, type = 'text/event-stream' } = cases.find(({ name }) => name === model) as Case
    response.writeHead(200, { 'content-type': type }).end(stream.join(''))
  })
})
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
afterAll(() => server.close())

describe('a chat-completions stream', () => {
  test.for(cases)('with $name', async ({ name, answer }) => {
    const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    expect(answerOf(await partsOf(openaiCompatible({ baseURL, model: name })))).toEqual({ ...nothing, ...answer })
  })
})
