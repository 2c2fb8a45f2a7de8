import type { AnthropicOptions } from './anthropic.ts'
import type { Message, ModelRequest } from '@koagent/core'
import { expect, test } from 'vitest'
import { isObject } from '../values.ts'
import { partsOf, streamed, wire } from '../testing/wire.ts'
import { anthropic } from './anthropic.ts'

type Words = string | readonly string[]

/** Text that begins with an exclamation mark is marked. */
const parts = (words: Words) =>
  [words].flat().map((text) => ({ type: 'text' as const, text, ...(text.startsWith('!') && { cache: true as const }) }))
const system = (words: Words): Message => ({ role: 'system', content: parts(words) })
const user = (words: Words): Message => ({ role: 'user', content: parts(words) })
const assistant = (words: string): Message => ({
  role: 'assistant',
  provider: 'anthropic',
  content: [{ type: 'reasoning', text: 'hm', providerData: { signature: 'S' } }, ...parts(words)],
})
const called: Message = { role: 'assistant', content: [{ type: 'tool_call', callId: '1', toolName: 'add', args: {} }] }
const result = (words: Words): Message => ({
  role: 'tool',
  content: [{ type: 'tool_result', callId: '1', toolName: 'add', content: parts(words), isError: false }],
})
const tools = ['x', 'y'].map((name) => ({ name, description: name, inputSchema: { type: 'object' } }))

/** What is marked in a request, in order: the name of a tool, the text of a block, or the id of a result. */
async function marked(request: Partial<ModelRequest>, cache: AnthropicOptions['cache']): Promise<unknown[]> {
  const line = wire(() => streamed(['data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}\n\n']))
  const model = anthropic({ model: 'claude-x', apiKey: 'k', fetch: line.fetch, ...(cache && { cache }) })
  await partsOf(model, { messages: [], tools: [], ...request })
  const found: unknown[] = []
  const look = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(look)
    if (!isObject(value)) return
    const { cache_control: mark, name, text, tool_use_id: id } = value
    if (mark) found.push(name ?? text ?? id)
    if (mark) expect(mark).toEqual(cache === '1h' ? { type: 'ephemeral', ttl: '1h' } : { type: 'ephemeral' })
    Object.values(value).forEach(look)
  }
  const body = line.sent[0]?.body
  for (const field of [body?.['tools'], body?.['system'], body?.['messages']]) look(field)
  return found
}

test.for<[string, AnthropicOptions['cache'], Partial<ModelRequest>, unknown[]]>([
  ['nothing by itself', undefined, { system: 's', tools, messages: [user('a')] }, []],
  [
    'what is marked',
    undefined,
    { messages: [system(['!s', 't']), user(['!a', 'b']), assistant('!c'), user('d')] },
    ['!s', '!a', '!c'],
  ],
  ['the result whose content is marked', undefined, { messages: [called, result(['a', '!b'])] }, ['1']],
  [
    'no blank text',
    undefined,
    { messages: [{ role: 'user', content: [{ type: 'text', text: ' ', cache: true }, ...parts('a')] }] },
    [],
  ],
  [
    'the last four of what is marked',
    undefined,
    { messages: [system('!s'), user(['!a', '!b', '!c', '!d'])] },
    ['!a', '!b', '!c', '!d'],
  ],
  [
    'the end of system text and of the last two turns',
    '5m',
    { system: 's', tools, messages: [system('t'), user('a'), assistant('b'), user('c'), assistant('d'), user(['e', 'f'])] },
    ['t', 'c', 'f'],
  ],
  [
    'the end of what stays, before the notes of this request',
    '5m',
    { messages: [user('a'), called, result('b'), { role: 'user', content: [{ type: 'text', text: 'n', added: true }] }] },
    ['a', '1'],
  ],
  ['for an hour, too', '1h', { system: 's', messages: [user(['!a', 'b'])] }, ['s', '!a', 'b']],
  ['the last tool, where there is no system text', '5m', { tools, messages: [user('a')] }, ['y', 'a']],
  ['results', '5m', { messages: [user('a'), called, result('b')] }, ['a', '1']],
  ['nothing twice', '5m', { messages: [system('!s'), user('!a')] }, ['!s', '!a']],
  [
    'what is marked and, in the room that is left, the system text',
    '5m',
    { system: 's', messages: [user(['!a', '!b', '!c'])] },
    ['s', '!a', '!b', '!c'],
  ],
  [
    'first what is marked, then the end',
    '5m',
    { system: 's', messages: [user(['!a', '!b', '!c', 'd']), assistant('e'), user('f')] },
    ['!a', '!b', '!c', 'f'],
  ],
  [
    'then the system text',
    '5m',
    { system: 's', messages: [user(['!a', '!b', 'd']), assistant('e'), user('f')] },
    ['s', '!a', '!b', 'f'],
  ],
  ['no more than four', '5m', { system: 's', messages: [user(['!a', '!b', '!c', '!d', '!e', 'f'])] }, ['!b', '!c', '!d', '!e']],
  ['nothing in an empty request', '5m', {}, []],
])('marked is %s', async ([, cache, request, expected]) => {
  expect(await marked(request, cache)).toEqual(expected)
})
