import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { ModelPart, ModelToolCall, Usage } from '@koagent/core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openaiCompatible } from './openai-compatible.ts'

/** One chunk with a delta, as a server would send it. */
function delta(fields: object, finish: string | null = null): string {
  return sent({ id: 'cc1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: fields, finish_reason: finish }] })
}

type Fragment = readonly [index: unknown, id: unknown, name: unknown, args: unknown]

/** A chunk with one fragment of a tool call for each. */
function calls(...fragments: readonly Fragment[]): string {
  return delta({ tool_calls: fragments.map(fragment) })
}

function fragment([index, id, name, args]: Fragment): object {
  return { index, id, type: 'function', function: { name, arguments: args } }
}

function sent(payload: unknown): string {
  return `data: ${JSON.stringify(payload)}\n\n`
}

const no = undefined
const stop = delta({}, 'stop')
const done = 'data: [DONE]\n\n'
const hi = delta({ role: 'assistant', content: 'hi' })
const tokens = { prompt_tokens: 12, completion_tokens: 7, total_tokens: 19 }
const usage = { inputTokens: 12, outputTokens: 7 }

interface Answer {
  text: string
  reasoning: string
  calls: { id: string; name: string; args: ModelToolCall['args'] }[]
  reason: string
  raw: string | undefined
  usage: Usage | undefined
}

interface Case {
  readonly name: string
  readonly stream: readonly string[]
  readonly answer: Partial<Answer>
  readonly type?: string
}

const one = (args: string, id = 'a', name = 'add'): Answer['calls'] => [{ id, name, args }]
const two: Answer['calls'] = [
  { id: 'a', name: 'add', args: '{"n":1}' },
  { id: 'b', name: 'mul', args: '{"n":2}' },
]

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
]

/** Streams of tool calls; {@link ends} follow each. */
const callCases: readonly (Pick<Case, 'name' | 'stream'> & Pick<Answer, 'calls'>)[] = [
  {
    name: 'interleaved calls, matched by index',
    stream: [
      calls([0, 'a', 'add', '']),
      calls([1, 'b', 'mul', '']),
      calls([1, no, no, '{"n"'], [0, no, no, '{"n"']),
      calls([0, no, no, ':1}']),
      calls([1, no, no, ':2}']),
    ],
    calls: two,
  },
  {
    name: 'interleaved calls, matched by id',
    stream: [
      calls([no, 'a', 'add', '{"n"']),
      calls([no, 'b', 'mul', '{"n":']),
      calls([no, 'a', no, ':1}']),
      calls([no, 'b', no, '2}']),
    ],
    calls: two,
  },
  {
    name: 'no index',
    stream: [calls([no, 'a', 'add', '{"n"']), calls([no, no, no, ':1}']), calls([no, 'b', 'mul', '{"n":2}'])],
    calls: two,
  },
  {
    name: 'index always 0, for calls of one tool',
    stream: [calls([0, 'a', 'add', '']), calls([0, no, no, '1']), calls([0, 'b', 'add', '']), calls([0, no, no, '2'])],
    calls: [...one('1'), ...one('2', 'b')],
  },
  {
    name: 'index always 0',
    stream: [calls([0, 'a', 'add', '{"n":1}']), calls([0, 'b', 'mul', '{"n"']), calls([0, no, no, ':2}'])],
    calls: two,
  },
  {
    name: 'an index only from the second fragment on',
    stream: [calls([no, 'a', 'add', no]), calls([0, no, no, '{}'])],
    calls: one('{}'),
  },
  { name: 'indexes that do not begin at 0', stream: [calls([1, 'a', 'add', '{"n":1}'], [2, 'b', 'mul', '{"n":2}'])], calls: two },
  {
    name: 'one id for two calls',
    stream: [calls([0, 'x', 'add', '1']), calls([1, 'x', 'mul', '2'])],
    calls: [...one('1', 'x'), ...one('2', 'x', 'mul')],
  },
  {
    name: 'one id for two calls of one tool',
    stream: [calls([0, 'x', 'add', '1']), calls([1, 'x', 'add', '2'])],
    calls: [...one('1', 'x'), ...one('2', 'x')],
  },
  {
    name: 'one id and index for two tools',
    stream: [calls([0, 'x', 'add', '1']), calls([0, 'x', 'mul', '2'])],
    calls: [...one('1', 'x'), ...one('2', 'x', 'mul')],
  },
  {
    name: 'empty ids',
    stream: [calls([0, '', 'add', '{'], [1, '', 'mul', '2']), calls([0, '', no, '}'])],
    calls: [...one('{}', ''), ...one('2', '', 'mul')],
  },
  {
    name: 'empty ids and index always 0',
    stream: [calls([0, '', 'add', '1']), calls([0, '', 'mul', '2'])],
    calls: [...one('1', ''), ...one('2', '', 'mul')],
  },
  {
    name: 'id and name in every fragment',
    stream: [calls([0, 'a', 'add', '{"n"']), calls([0, 'a', 'add', ':1}'])],
    calls: one('{"n":1}'),
  },
  {
    name: 'id and name repeated at the end',
    stream: [calls([0, 'a', 'add', '{"n":1}']), calls([0, 'a', 'add', ''])],
    calls: one('{"n":1}'),
  },
  { name: 'an id that comes late', stream: [calls([0, no, 'add', no]), calls([0, 'a', no, '{}'])], calls: one('{}') },
  {
    name: 'two calls whose ids come late',
    stream: [calls([0, no, 'add', '{"n"'], [1, no, 'mul', '{"n"']), calls([0, 'a', no, ':1}'], [1, 'b', no, ':2}'])],
    calls: [...one('{"n":1}', ''), ...one('{"n":2}', 'b', 'mul')],
  },
  {
    name: 'an id that comes after the first delta',
    stream: [calls([0, no, 'add', '{"n"']), calls([0, 'a', no, ':1}'])],
    calls: one('{"n":1}', ''),
  },
  {
    name: 'a name that comes late',
    stream: [calls([no, 'a', no, '{"n"']), calls([no, 'a', 'add', no]), calls([no, 'a', no, ':1}'])],
    calls: one('{"n":1}'),
  },
  { name: 'an empty name first', stream: [calls([0, 'a', '', no]), calls([0, no, 'add', '{"n":1}'])], calls: one('{"n":1}') },
  { name: 'a slot that stays empty', stream: [calls([0, 'a', 'add', '{}'], [1, '', '', ''])], calls: one('{}') },
  { name: 'arguments as an object', stream: [calls([0, 'a', 'add', { n: 1 }])], calls: one('{"n":1}') },
  { name: 'arguments as null', stream: [calls([0, 'a', 'add', null])], calls: one('') },
  { name: 'arguments as an empty string', stream: [calls([0, 'a', 'add', ''])], calls: one('') },
  {
    name: 'no ids, indexes and arguments, in one chunk',
    stream: [calls([no, no, 'add', no], [no, no, 'add', no])],
    calls: [...one('', ''), ...one('', '')],
  },
  {
    name: 'no ids and indexes, in one chunk',
    stream: [calls([no, no, 'add', { n: 1 }], [no, no, 'add', { n: 2 }])],
    calls: [...one('{"n":1}', ''), ...one('{"n":2}', '')],
  },
  {
    name: 'no ids and indexes, chunk by chunk',
    stream: [calls([no, no, 'add', '{"n":1}']), calls([no, no, 'add', '{"n":2}'])],
    calls: [...one('{"n":1}', ''), ...one('{"n":2}', '')],
  },
  {
    name: 'three calls in one slot, which stay one text',
    stream: [1, 2, 3].map((n) => calls([0, 'a', 'add', `{"n":${n}}`])),
    calls: one('{"n":1}{"n":2}{"n":3}'),
  },
  { name: 'broken arguments, as they came', stream: [calls([0, 'a', 'add', '{"path": "x", }'])], calls: one('{"path": "x", }') },
  {
    name: 'fragments that are none',
    stream: [delta({ tool_calls: [null, 3, 'x', [], fragment([null, 'a', 'add', '{}'])] }), delta({ tool_calls: {} })],
    calls: one('{}'),
  },
  {
    name: 'numbers as ids',
    stream: [calls([no, 1, 'add', '{"n"'], [no, 2, 'mul', '2']), calls([no, 1, no, ':1}'])],
    calls: [...one('{"n":1}', '1'), ...one('2', '2', 'mul')],
  },
]

const all: readonly Case[] = [
  ...cases,
  ...callCases.map(({ name, stream, calls }): Case => ({
    name,
    stream: [...stream, delta({}, 'tool_calls'), done],
    answer: { calls, reason: 'tool_calls', raw: 'tool_calls' },
  })),
]

const server = createServer((request, response) => {
  void text(request).then((body) => {
    const { model } = JSON.parse(body) as { model: string }
    const { stream, type = 'text/event-stream' } = all.find(({ name }) => name === model) as Case
    response.writeHead(200, { 'content-type': type }).end(stream.join(''))
  })
})
beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)))
afterAll(() => server.close())

async function partsOf(model: string): Promise<ModelPart[]> {
  const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  const parts: ModelPart[] = []
  for await (const part of openaiCompatible({ baseURL, model }).stream(
    { messages: [], tools: [] },
    { signal: new AbortController().signal },
  ))
    parts.push(part)
  return parts
}

describe('a chat-completions stream', () => {
  test.for(all)('with $name', async ({ name, answer }) => {
    const parts = await partsOf(name)
    const whole: Answer = { text: '', reasoning: '', calls: [], reason: '', raw: undefined, usage: undefined }
    const deltas: Record<string, string> = {}
    for (const part of parts) {
      if (part.type === 'text_delta') whole.text += part.text
      if (part.type === 'reasoning_delta') whole.reasoning += part.text
      if (part.type === 'tool_call_delta') deltas[part.callId] = (deltas[part.callId] ?? '') + part.delta
      if (part.type === 'tool_call') whole.calls.push({ id: part.callId, name: part.toolName, args: part.args })
      if (part.type === 'usage') whole.usage = part.usage
      if (part.type === 'finish') [whole.reason, whole.raw] = [part.reason, part.rawReason]
    }
    expect(whole).toEqual({ text: '', reasoning: '', calls: [], reason: 'stop', raw: 'stop', usage: undefined, ...answer })

    const kinds = parts.map((part) => part.type)
    expect(kinds.filter((kind) => kind === 'finish')).toEqual(['finish'])
    expect(kinds.at(-1)).toBe('finish')
    expect(kinds.filter((kind) => kind === 'usage').length).toBe(whole.usage ? 1 : 0)
    expect(parts).not.toContainEqual(expect.objectContaining({ text: '' }))
    expect(parts).not.toContainEqual(expect.objectContaining({ toolName: '' }))
    // Deltas belong to the first call of an id.
    const args: Record<string, string> = {}
    for (const call of whole.calls) args[call.id] ??= String(call.args)
    for (const [id, streamed] of Object.entries(args)) if (!streamed) delete args[id]
    expect(deltas).toEqual(args)
  })
})
