import { Agent, defineTool, memorySession } from '@koagent/core'
import type { AssistantPart, Json, Message, ModelPart } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { hello, partsOf, streamed, wire } from '../testing/wire.ts'
import { openaiCompatible } from './openai-compatible.ts'
import { calls, delta, done, fragment, no, serving, stop } from './testing/chunks.ts'

const text = (index: number, words: string, more: object = {}): object => ({
  type: 'reasoning.text',
  text: words,
  index,
  ...more,
})
const details = (...list: readonly object[]): string => delta({ reasoning_details: list })
const thinking = (words: string): object => ({ type: 'thinking', thinking: [{ type: 'text', text: words }] })

async function ofReasoning(...stream: readonly string[]): Promise<ModelPart[]> {
  return (await partsOf(serving([...stream, stop, done]))).filter(
    ({ type }) => type.startsWith('reasoning') || type === 'text_delta',
  )
}

const said = (words: string): ModelPart => ({ type: 'reasoning_delta', text: words })
const end = (providerData: Json): ModelPart => ({ type: 'reasoning_end', providerData })

describe('reasoning', () => {
  test('is a block of the field that it came in', async () => {
    for (const field of ['reasoning_content', 'reasoning', 'reasoning_text'])
      expect(await ofReasoning(delta({ [field]: 'h' }), delta({ [field]: 'm' }), delta({ content: 'hi' }))).toEqual([
        said('h'),
        said('m'),
        end({ field }),
        { type: 'text_delta', text: 'hi' },
      ])
  })

  test('in details is put together by index, with its signature', async () => {
    expect(
      await ofReasoning(
        delta({ reasoning: 'hm', reasoning_details: [text(0, 'hm', { format: 'f', signature: null })] }),
        delta({ reasoning: ', so', reasoning_details: [text(0, ', so')] }),
        details({ type: 'reasoning.text', signature: 'S', index: 0 }),
        details(
          { type: 'reasoning.encrypted', data: 'E', id: 'r1', index: 1 },
          { type: 'reasoning.encrypted', data: 'F', index: 1 },
        ),
        details(text(0, 'more')),
        delta({ content: 'hi' }),
      ),
    ).toEqual([
      said('hm'),
      said(', so'),
      said('more'),
      end({
        field: 'reasoning_details',
        details: [
          { type: 'reasoning.text', text: 'hm, so', index: 0, format: 'f', signature: 'S' },
          { type: 'reasoning.encrypted', data: 'E', id: 'r1', index: 1 },
          { type: 'reasoning.encrypted', data: 'F', index: 1 },
          { type: 'reasoning.text', text: 'more', index: 0 },
        ],
      }),
      { type: 'text_delta', text: 'hi' },
    ])
  })

  test('in details counts as text where it stands nowhere else', async () => {
    expect(
      await ofReasoning(
        details({ type: 'reasoning.summary', summary: 'a' }),
        details({ type: 'reasoning.summary', summary: 'b' }),
      ),
    ).toEqual([
      said('a'),
      said('b'),
      end({ field: 'reasoning_details', details: [{ type: 'reasoning.summary', summary: 'ab' }] }),
    ])
  })

  test('in details of two ids is two of them', async () => {
    const list = ['r1', 'r2'].map((id) => ({ type: 'reasoning.summary', summary: 'a', id, index: 0 }))
    expect(await ofReasoning(details(list[0] ?? {}), details(list[1] ?? {}))).toEqual([
      said('a'),
      said('a'),
      end({ field: 'reasoning_details', details: list }),
    ])
  })

  test('in details that are none is passed over', async () => {
    for (const odd of [null, 7, 'x', {}, [null, 3, 'x', []]]) {
      expect(await ofReasoning(delta({ reasoning: 'hm', reasoning_details: odd }))).toEqual([
        said('hm'),
        end({ field: 'reasoning' }),
      ])
    }
  })

  test('in a list of content is a block, too', async () => {
    expect(
      await ofReasoning(
        delta({ content: [thinking('h')] }),
        delta({ content: [thinking('m'), { type: 'reference', reference_ids: [1] }, { type: 'text', text: 'hi' }] }),
        delta({ content: '!' }),
      ),
    ).toEqual([
      said('h'),
      said('m'),
      end({ field: 'thinking' }),
      { type: 'text_delta', text: 'hi' },
      { type: 'text_delta', text: '!' },
    ])
  })
})

/** What the second request of a run says of the answer to the first. */
async function echoed(...first: readonly string[]): Promise<unknown> {
  const answers = [first, [delta({ content: 'ok' }), stop, done]]
  const line = wire(() => streamed(answers.shift() ?? []))
  const model = openaiCompatible({ baseURL: 'http://acme.test/v1', model: 'm1', fetch: line.fetch })
  const tool = defineTool({ name: 'add', description: 'Adds.', input: { type: 'object' }, execute: () => '3' })
  const session = memorySession()
  expect((await new Agent({ model, tools: [tool] }).run('go', { session })).text).toBe('ok')
  // What was stored and loaded says the same.
  const messages = JSON.parse(JSON.stringify(session.messages.slice(0, 3))) as Message[]
  line.answer = () => streamed([done])
  await partsOf(model, { ...hello, messages })
  expect(line.sent[2]?.body['messages']).toEqual(line.sent[1]?.body['messages'])
  return (line.sent[1]?.body['messages'] as unknown[] | undefined)?.[1]
}

const call = { id: 'a', type: 'function', function: { name: 'add', arguments: '{}' } }

describe('reasoning goes back to where it came from', () => {
  test('in its field', async () => {
    expect(await echoed(delta({ reasoning_content: 'hm' }), calls([0, 'a', 'add', '{}']), stop, done)).toEqual({
      role: 'assistant',
      content: null,
      reasoning_content: 'hm',
      tool_calls: [call],
    })
  })

  test('in its field also where it was empty, beside calls only', async () => {
    const first = delta({ role: 'assistant', reasoning_content: '' })
    expect(await echoed(first, calls([0, 'a', 'add', '{}']), stop, done)).toEqual({
      role: 'assistant',
      content: null,
      reasoning_content: '',
      tool_calls: [call],
    })
    expect(await ofReasoning(first, delta({ content: 'hi' }))).toEqual([{ type: 'text_delta', text: 'hi' }])
    for (const stream of [
      [first, delta({ reasoning_content: 'hm' })],
      [delta({ reasoning_content: 'hm' }), first],
    ]) {
      expect(await ofReasoning(...stream, calls([0, 'a', 'add', '{}']))).toEqual([
        said('hm'),
        end({ field: 'reasoning_content' }),
      ])
    }
  })

  test('as its details, whole and in order, also those that came late', async () => {
    const encrypted = { type: 'reasoning.encrypted', data: 'E', id: 'a', format: 'f', index: 1 }
    expect(
      await echoed(
        delta({ reasoning: 'hm', reasoning_details: [text(0, 'hm')] }),
        delta({ content: 'So: ' }),
        details({ type: 'reasoning.text', signature: 'S', index: 0 }),
        delta({ tool_calls: [fragment([0, 'a', 'add', '{}'])], reasoning_details: [encrypted] }),
        stop,
        done,
      ),
    ).toEqual({
      role: 'assistant',
      content: 'So: ',
      reasoning_details: [{ type: 'reasoning.text', text: 'hm', index: 0, signature: 'S' }, encrypted],
      tool_calls: [call],
    })
  })

  test('in its place in the list of content', async () => {
    expect(
      await echoed(
        delta({ content: [thinking('h')] }),
        delta({ content: [thinking('m')] }),
        delta({ content: 'So: ' }),
        delta({ content: [thinking('wait')] }),
        delta({ content: 'now', tool_calls: [fragment([no, 'a', 'add', '{}'])] }),
        stop,
        done,
      ),
    ).toEqual({
      role: 'assistant',
      content: [thinking('hm'), { type: 'text', text: 'So: ' }, thinking('wait'), { type: 'text', text: 'now' }],
      tool_calls: [call],
    })
  })

  test('and to nobody else', async () => {
    const content: AssistantPart[] = [
      { type: 'reasoning', text: 'hm', providerData: { field: 'thinking' } },
      { type: 'reasoning', text: '', providerData: { field: 'reasoning_details', details: [{ type: 'reasoning.encrypted' }] } },
      { type: 'text', text: 'hi' },
    ]
    for (const provider of ['other', undefined]) {
      const line = wire(() => streamed([done]))
      const model = openaiCompatible({ baseURL: 'http://acme.test/v1', model: 'm1', fetch: line.fetch })
      await partsOf(model, { ...hello, messages: [{ role: 'assistant', content, ...(provider && { provider }) }] })
      expect(line.sent[0]?.body['messages']).toEqual([{ role: 'assistant', content: 'hi' }])
    }
  })
})
