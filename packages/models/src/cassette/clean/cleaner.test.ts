import type { ModelRequest } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { cleanAnswer } from './answer.ts'
import { cleanerOf } from './cleaner.ts'

// Neither half is one.
const [front, back] = ['sk-Ab3Ab3', 'xY9xY9xY9xY9'] as const
const secret = front + back
const cleaner = cleanerOf()

test('a request is cleaned wherever people, models and tools write; names and opaque data stay', () => {
  const opaque = { signature: secret, password: 'p' }
  const request: ModelRequest = {
    system: `Use ${secret}.`,
    messages: [
      { role: 'user', content: [{ type: 'image', mediaType: 'image/png', data: secret, url: `https://a:b@x.test` }] },
      {
        role: 'assistant',
        provider: 'acme',
        model: 'm1',
        providerData: opaque,
        content: [
          { type: 'reasoning', text: secret, blockId: 'b1', providerData: opaque },
          {
            type: 'tool_call',
            callId: 'c1',
            toolName: 'login',
            args: { password: 'hunter2', pin: { secret: 42 }, maxTokens: 5 },
          },
          { type: 'tool_call', callId: 'c2', toolName: 'login', args: {}, rawArgs: `"${secret}` },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool_result',
            callId: 'c1',
            toolName: 'login',
            isError: false,
            content: [{ type: 'text', text: '{ "token": ["abc"], "n": 1 }' }],
            value: { token: ['abc'], n: 1 },
          },
        ],
      },
    ],
    tools: [
      {
        name: 'login',
        description: secret,
        inputSchema: { type: 'object', properties: { password: { type: 'string', default: secret } } },
      },
    ],
    toolChoice: { toolName: 'login' },
    settings: { stop: [secret], extra: { api_key: 'k', user: 'u' } },
  }
  const before = structuredClone(request)
  expect(cleaner.request(request)).toEqual({
    system: 'Use [scrubbed].',
    messages: [
      { role: 'user', content: [{ type: 'image', mediaType: 'image/png', data: secret, url: 'https://[scrubbed]@x.test' }] },
      {
        role: 'assistant',
        provider: 'acme',
        model: 'm1',
        providerData: opaque,
        content: [
          { type: 'reasoning', text: '[scrubbed]', blockId: 'b1', providerData: opaque },
          {
            type: 'tool_call',
            callId: 'c1',
            toolName: 'login',
            args: { password: '[scrubbed]', pin: { secret: 0 }, maxTokens: 5 },
          },
          { type: 'tool_call', callId: 'c2', toolName: 'login', args: {}, rawArgs: '"[scrubbed]' },
        ],
      },
      {
        role: 'tool',
        content: [
          {
            type: 'tool_result',
            callId: 'c1',
            toolName: 'login',
            isError: false,
            content: [{ type: 'text', text: '{"token":["[scrubbed]"],"n":1}' }],
            value: { token: ['[scrubbed]'], n: 1 },
          },
        ],
      },
    ],
    tools: [
      {
        name: 'login',
        description: '[scrubbed]',
        inputSchema: { type: 'object', properties: { password: { type: 'string', default: '[scrubbed]' } } },
      },
    ],
    toolChoice: { toolName: 'login' },
    settings: { stop: ['[scrubbed]'], extra: { api_key: '[scrubbed]', user: 'u' } },
  })
  expect(request).toEqual(before)
  const copy = JSON.stringify(cleaner.request(request))
  const kept = cleaner.request(request)
  opaque.signature = 'changed later'
  expect(JSON.stringify(kept)).toBe(copy)
})

describe('a secret in several deltas', () => {
  const text = (words: string) => ({ type: 'text_delta', text: words }) as const
  const reasoning = (words: string, blockId?: string) =>
    ({ type: 'reasoning_delta', text: words, ...(blockId !== undefined && { blockId }) }) as const
  const args = (callId: string, delta: string) => ({ type: 'tool_call_delta', callId, toolName: 't', delta }) as const
  const call = (callId: string, json: string) => ({ type: 'tool_call', callId, toolName: 't', args: json }) as const
  const usage = { type: 'usage', usage: { inputTokens: 1, outputTokens: 1 } } as const
  const raw = { type: 'raw', value: { front } } as const

  test.for([
    ['text', [text('a '), text(front), usage, text(back)], [text('a [scrubbed]'), usage]],
    ['text around an empty piece', [text(front), text(''), text(back)], [text('[scrubbed]'), text('')]],
    ['reasoning', [reasoning(front, 'b'), reasoning(back, 'b'), text('x')], [reasoning('[scrubbed]', 'b'), text('x')]],
    [
      'reasoning around the end of another block',
      [reasoning(front, 'b'), { type: 'reasoning_end', blockId: 'a' } as const, reasoning(back, 'b')],
      [reasoning('[scrubbed]', 'b'), { type: 'reasoning_end', blockId: 'a' }],
    ],
    [
      'arguments of calls that come mixed',
      [args('1', `{"q":"${front}`), args('2', '{}'), args('1', `${back}"}`), call('1', `{"q":"${secret}"}`), call('2', '{}')],
      [args('1', '{"q":"[scrubbed]"}'), args('2', '{}'), call('1', '{"q":"[scrubbed]"}'), call('2', '{}')],
    ],
    [
      'arguments by the name of their field',
      [args('1', '{ "pass'), args('1', 'word": "hunter2" }'), call('1', '{ "password": "hunter2" }')],
      [args('1', '{"password":"[scrubbed]"}'), call('1', '{"password":"[scrubbed]"}')],
    ],
    [
      'arguments of one of two calls without an id',
      [args('', `{"q":"${front}`), args('', `${back}"}`), call('', '{}'), args('', '{ "q": 1'), args('', '}'), call('', '{}')],
      [args('', '{"q":"[scrubbed]"}'), call('', '{}'), args('', '{ "q": 1'), args('', '}'), call('', '{}')],
    ],
    ['arguments that were cut off', [args('1', '{"pass'), args('1', 'word":"hunt')], [args('1', '{"password":"[scrubbed]')]],
    ["text, with the provider's own words", [text(front), raw, text(back)], [text('[scrubbed]')]],
  ] as const)('of %s: the first holds the whole', ([, parts, expected]) => {
    expect(cleanAnswer(parts, cleaner)).toEqual(expected)
  })

  test.for([
    ['a block that ended', [text(front), { type: 'text_end' } as const, text(back)]],
    ['a block of another kind', [text(front), reasoning('x'), text(back)]],
    ['reasoning of another block', [reasoning(front, 'a'), reasoning(back, 'b')]],
    ['reasoning that ended', [reasoning(front, 'a'), { type: 'reasoning_end', blockId: 'a' } as const, reasoning(back, 'a')]],
    ['a call', [text(front), call('1', '{}'), text(back)]],
    ['nothing secret', [text('a'), text('b'), raw, args('1', '{ "a": '), args('1', '1 }'), call('1', '{ "a": 1 }'), usage]],
  ] as const)('stays where core keeps the pieces apart: %s', ([, parts]) => {
    expect(cleanAnswer(parts, cleaner)).toEqual(parts)
  })
})

test('what the user evens out of arguments is the same in their text and in the object', () => {
  // Quotes are in the JSON text, and in none of its strings.
  const { part, args } = cleanerOf((text) => text.replaceAll('"', '_').replaceAll('Ada', 'X'))
  const call = { type: 'tool_call', callId: 'c', toolName: 't' } as const
  expect(args('{ "q": "Ada" }')).toBe('{"q":"X"}')
  expect(part({ ...call, args: '{ "q": "Ada" }' })).toEqual({ ...call, args: '{"q":"X"}' })
  expect(part({ ...call, args: { q: 'Ada' } })).toEqual({ ...call, args: { q: 'X' } })
})
