import type { ModelRequest } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { cleanAnswer } from './answer.ts'
import { cleanerOf } from './cleaner.ts'

// Neither half is one.
const [front, back] = ['sk-Ab3Ab3', 'xY9xY9xY9xY9'] as const
const secret = front + back
const cleaner = cleanerOf()

/** What people, models and tools wrote; everything else stays as it is. */
interface Written {
  readonly words: string
  readonly user: string
  readonly password: string
  readonly pin: number
  readonly token: string
  readonly result: string
  readonly key: string
}

const opaque = (): { signature: string; password: string } => ({ signature: secret, password: 'p' })

const requestOf = ({ words, user, password, pin, token, result, key }: Written, providerData = opaque()): ModelRequest => ({
  system: `Use ${words}.`,
  messages: [
    { role: 'user', content: [{ type: 'image', mediaType: 'image/png', data: secret, url: `https://${user}@x.test` }] },
    {
      role: 'assistant',
      provider: 'acme',
      model: 'm1',
      providerData,
      content: [
        { type: 'reasoning', text: words, blockId: 'b1', providerData },
        { type: 'tool_call', callId: 'c1', toolName: 'login', args: { password, pin: { secret: pin }, maxTokens: 5 } },
        { type: 'tool_call', callId: 'c2', toolName: 'login', args: {}, rawArgs: `"${words}` },
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
          content: [{ type: 'text', text: result }],
          value: { token: [token], n: 1 },
        },
      ],
    },
  ],
  tools: [
    {
      name: 'login',
      description: words,
      inputSchema: { type: 'object', properties: { password: { type: 'string', default: words } } },
    },
  ],
  toolChoice: { toolName: 'login' },
  settings: { stop: [words], extra: { api_key: key, user: 'u' } },
})

test('a request is cleaned wherever people, models and tools write; names and opaque data stay', () => {
  const data = opaque()
  const result = '{ "token": ["abc"], "n": 1 }'
  const written = { words: secret, user: 'a:b', password: 'hunter2', pin: 42, token: 'abc', result, key: 'k' }
  const request = requestOf(written, data)
  const scrubbed = '[scrubbed]'
  const cleaned = requestOf({
    words: scrubbed,
    user: scrubbed,
    password: scrubbed,
    pin: 0,
    token: scrubbed,
    result: '{"token":["[scrubbed]"],"n":1}',
    key: scrubbed,
  })
  const kept = cleaner.request(request)
  expect(kept).toEqual(cleaned)
  expect(request).toEqual(requestOf(written))
  data.signature = 'changed later'
  expect(kept).toEqual(cleaned)
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
