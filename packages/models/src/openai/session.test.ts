import { Agent, defineTool, memorySession } from '@koagent/core'
import type { Message, Model, Session } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { events, streamed, wire } from '../testing/wire.ts'
import type { Wire } from '../testing/wire.ts'
import { openai } from './openai.ts'
import { completed, ended } from './testing/events.ts'

// What the server sends in two answers, null fields and all.
const text = (words: string) => [{ type: 'output_text', text: words, annotations: [] }]
const first = [
  {
    type: 'reasoning',
    id: 'rs_1',
    summary: [
      { type: 'summary_text', text: 'Add' },
      { type: 'summary_text', text: 'them.' },
    ],
    encrypted_content: 'gAAA1',
  },
  { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', phase: 'commentary', content: text('I add.') },
  { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'sum', queries: ['sum'] } },
  { type: 'reasoning', id: 'rs_2', summary: [], encrypted_content: 'gAAA2' },
  { type: 'function_call', id: 'fc_1', call_id: 'call_1', name: 'add', arguments: '{"a":1,"b":2}' },
  { type: 'function_call', id: 'fc_2', call_id: 'call_2', name: 'add', arguments: '{"b":4,"a":3}' },
]
const second = [
  { type: 'reasoning', id: 'rs_3', summary: [], encrypted_content: 'gAAA3' },
  { type: 'message', id: 'msg_2', role: 'assistant', status: 'completed', phase: 'final_answer', content: text('3 and 7.') },
]
const results = [
  { type: 'function_call_output', call_id: 'call_1', output: '3' },
  { type: 'function_call_output', call_id: 'call_2', output: '7' },
]
const user = (content: string) => ({ role: 'user', content })

/** A field of every item that is null in the stream. */
const withNulls = (items: readonly object[]) => items.map((item) => ({ content: null, status: null, phase: null, ...item }))
const answer = (items: readonly object[]) => () =>
  streamed([events([...withNulls(items).map((item, at) => ended(at, item)), completed()])])

const add = defineTool({
  name: 'add',
  description: 'Adds.',
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
})

const run = (model: Model, session: Session, input: string) => new Agent({ model, tools: [add] }).run(input, { session })

/** A session with two answers of the model, and what was sent for them. */
async function conversation(): Promise<{ session: Session; line: Wire; model: Model }> {
  const answers = [answer(first), answer(second)]
  const line = wire(() => (answers.shift() ?? answer(second))())
  const model = openai({ model: 'gpt-5.2', apiKey: 'k', fetch: line.fetch })
  const session = memorySession()
  await run(model, session, 'Sums?')
  return { session, line, model }
}

test('the second request holds the items of the first answer as they came, and so on', async () => {
  const { session, line, model } = await conversation()
  expect(line.sent[1]?.body['input']).toEqual([user('Sums?'), ...first, ...results])
  await run(model, session, 'Thanks.')
  expect(line.sent[2]?.body['input']).toEqual([user('Sums?'), ...first, ...results, ...second, user('Thanks.')])
})

test('so it is with a session that was stored as JSON', async () => {
  const { session, line, model } = await conversation()
  const stored = memorySession({ messages: JSON.parse(JSON.stringify(session.messages)) as Message[] })
  await run(model, stored, 'Thanks.')
  expect(line.sent[2]?.body['input']).toEqual([user('Sums?'), ...first, ...results, ...second, user('Thanks.')])
})

test('another provider gets none of it, and it comes back unchanged', async () => {
  const { session, line, model } = await conversation()
  const other = scripted([{ text: 'Yes.' }])
  await run(other, session, 'Sure?')
  expect(JSON.stringify(other.calls)).not.toMatch(/gAAA|rs_|msg_|fc_|ws_|phase/)
  expect(JSON.stringify(other.calls)).toMatch(/I add\..*3 and 7\./)

  const another = wire(() => streamed([events([completed(second)])]))
  await run(openai({ model: 'gpt-5.2', provider: 'acme', apiKey: 'k', fetch: another.fetch }), session, 'And you?')
  expect(JSON.stringify(another.sent)).not.toMatch(/gAAA|rs_|msg_|fc_|ws_|phase/)

  await run(model, session, 'Thanks.')
  expect(line.sent[2]?.body['input']).toEqual([
    user('Sums?'),
    ...first,
    ...results,
    ...second,
    user('Sure?'),
    { role: 'assistant', content: 'Yes.' },
    user('And you?'),
    { role: 'assistant', content: '3 and 7.' },
    user('Thanks.'),
  ])
})

test('the text of an answer is what it said to the reader', async () => {
  const { session } = await conversation()
  expect(session.messages.map(({ role, content }) => [role, content.map(({ type }) => type).join(' ')])).toEqual([
    ['user', 'text'],
    ['assistant', 'reasoning text reasoning reasoning tool_call tool_call'],
    ['tool', 'tool_result tool_result'],
    ['assistant', 'reasoning text'],
  ])
})
