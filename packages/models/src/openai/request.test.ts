import { ModelError } from '@koagent/core'
import type { AssistantMessage, Message, ModelRequest, ToolResultPart } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { events, hello, partsOf, streamed, wire } from '../testing/wire.ts'
import { openai } from './openai.ts'
import { completed } from './testing/events.ts'

/** What goes over the wire for a request. */
async function bodyOf(request: Partial<ModelRequest>, model = 'gpt-4.1'): Promise<Record<string, unknown> | undefined> {
  const { fetch, sent } = wire(() => streamed([events([completed()])]))
  await partsOf(openai({ model, apiKey: 'k', fetch }), { messages: [], tools: [], ...request })
  expect(sent.length).toBe(1)
  return sent[0]?.body
}

async function inputOf(messages: readonly Message[], model?: string): Promise<unknown> {
  return (await bodyOf({ messages }, model))?.['input']
}

const text = (words: string) => ({ type: 'text', text: words }) as const
const rest = { store: false, stream: true }

describe('a request', () => {
  const tools = [{ name: 'add', description: 'Adds.', inputSchema: { type: 'object' } }]

  test('of nothing but a text', async () => {
    expect(await bodyOf({ ...hello, toolChoice: 'auto' })).toEqual({
      model: 'gpt-4.1',
      input: [{ role: 'user', content: 'hi' }],
      ...rest,
    })
  })

  test('with all that there is', async () => {
    const settings = { maxOutputTokens: 9, temperature: 0, topP: 0.5, seed: 0, stop: [] }
    expect(await bodyOf({ system: 'Be brief.', tools, toolChoice: { toolName: 'add' }, settings })).toEqual({
      model: 'gpt-4.1',
      instructions: 'Be brief.',
      input: [],
      tools: [{ type: 'function', name: 'add', description: 'Adds.', parameters: { type: 'object' }, strict: false }],
      tool_choice: { type: 'function', name: 'add' },
      max_output_tokens: 9,
      temperature: 0,
      top_p: 0.5,
      ...rest,
    })
    expect((await bodyOf({ tools, toolChoice: 'required' }))?.['tool_choice']).toBe('required')
  })

  test('extra fields win over ours, undefined takes one away, and the answer streams all the same', async () => {
    const extra = { temperature: 1, store: undefined, stream: false, reasoning: { effort: 'low' }, include: [] }
    expect(await bodyOf({ settings: { temperature: 0, extra } }, 'gpt-5.2')).toEqual({
      model: 'gpt-5.2',
      input: [],
      temperature: 1,
      reasoning: { effort: 'low' },
      include: [],
      stream: true,
    })
  })

  test.for([
    ['gpt-5.2', true],
    ['gpt-5', true],
    ['gpt-5-mini-2025-08-07', true],
    ['gpt-5.1-codex-max', true],
    ['gpt-6', true],
    ['o1', true],
    ['o3-pro', true],
    ['o4-mini', true],
    ['ft:o4-mini:acme::x', true],
    ['openai/gpt-5.2', true],
    ['codex-mini-latest', true],
    ['computer-use-preview', true],
    ['gpt-5-chat-latest', false],
    ['gpt-4.1', false],
    ['gpt-4o-mini', false],
    ['gpt-35-turbo', false],
    ['chatgpt-4o-latest', false],
    ['ft:gpt-4.1-nano:acme::x', false],
    ['openai/gpt-oss-120b', false],
    ['my-deployment', false],
  ] as const)('to %s asks for encrypted reasoning: %s', async ([model, asks]) => {
    expect((await bodyOf({}, model))?.['include']).toEqual(asks ? ['reasoning.encrypted_content'] : undefined)
  })

  test('for stop sequences is not sent', async () => {
    const { fetch, sent } = wire(() => streamed([]))
    const asked = partsOf(openai({ model: 'gpt-4.1', apiKey: 'k', fetch }), { ...hello, settings: { stop: ['x'] } })
    const error = await asked.catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({
      message:
        "model 'openai/gpt-4.1' was not asked: the Responses API knows no stop sequences (settings.stop); make the model with api: 'chat'",
      code: 'unsupported_setting',
      retryable: false,
      provider: 'openai',
    })
    expect(sent).toEqual([])
  })
})

describe('messages', () => {
  test('of the system stay in their places', async () => {
    const messages: Message[] = [
      { role: 'system', content: [text('a'), text('b')] },
      { role: 'user', content: [text('hi')] },
      { role: 'system', content: [text('')] },
      { role: 'system', content: [text('c')] },
    ]
    expect(await inputOf(messages)).toEqual([
      { role: 'system', content: 'a\nb' },
      { role: 'user', content: 'hi' },
      { role: 'system', content: 'c' },
    ])
  })

  test('of a user hold images and files, and no empty text', async () => {
    const content = [
      text(''),
      text('see'),
      { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      { type: 'image', mediaType: 'image/png', url: 'https://acme.test/a.png' },
      { type: 'file', mediaType: 'image/jpeg', data: 'BBBB' },
      { type: 'file', mediaType: 'application/pdf', name: 'a.pdf', data: 'CCCC' },
      { type: 'file', mediaType: 'application/pdf', data: 'DDDD' },
      { type: 'file', mediaType: 'application/pdf', name: 'b.pdf', url: 'https://acme.test/b.pdf' },
      { type: 'file', mediaType: 'application/pdf', name: 'c.pdf' },
    ] as const
    expect(await inputOf([{ role: 'user', content }])).toEqual([
      {
        role: 'user',
        content: [
          { type: 'input_text', text: 'see' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
          { type: 'input_image', image_url: 'https://acme.test/a.png', detail: 'auto' },
          { type: 'input_image', image_url: 'data:image/jpeg;base64,BBBB', detail: 'auto' },
          { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,CCCC' },
          { type: 'input_file', filename: 'file', file_data: 'data:application/pdf;base64,DDDD' },
          { type: 'input_file', file_url: 'https://acme.test/b.pdf' },
          { type: 'input_text', text: '[file c.pdf application/pdf without its data]' },
        ],
      },
    ])
  })

  test('of tools are one item for each result', async () => {
    const result = (callId: string, content: ToolResultPart['content'], isError = false): ToolResultPart => ({
      type: 'tool_result',
      callId,
      toolName: 'shot',
      content,
      isError,
    })
    const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
    const content = [
      result('a', [text('3'), text('4')]),
      result('b', [text('done'), image]),
      result('c', [text('no')], true),
      result('d', []),
    ]
    expect(await inputOf([{ role: 'tool', content }])).toEqual([
      { type: 'function_call_output', call_id: 'a', output: '3\n4' },
      {
        type: 'function_call_output',
        call_id: 'b',
        output: [
          { type: 'input_text', text: 'done' },
          { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
        ],
      },
      { type: 'function_call_output', call_id: 'c', output: 'no' },
      { type: 'function_call_output', call_id: 'd', output: '' },
    ])
  })
})

describe('an assistant message', () => {
  const thought = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAA' }
  const reasoning = (providerData: object) => ({ type: 'reasoning', text: '', providerData: { ...providerData } }) as const
  const said = (words: string, providerData?: object) => ({
    ...text(words),
    ...(providerData && { providerData: { ...providerData } }),
  })
  const call = (providerData?: object) =>
    ({
      type: 'tool_call',
      callId: 'call_1',
      toolName: 'add',
      args: { n: 1 },
      ...(providerData && { providerData: { ...providerData } }),
    }) as const
  const called = { type: 'function_call', call_id: 'call_1', name: 'add', arguments: '{"n":1}' }
  const echo = (content: AssistantMessage['content'], model = 'gpt-5.2', provider = 'openai'): Promise<unknown> =>
    inputOf([{ role: 'assistant', provider, content }], model)

  test('goes back with its reasoning and all ids', async () => {
    const content = [
      reasoning(thought),
      said('So:', { id: 'msg_1', phase: 'commentary' }),
      reasoning({ ...thought, id: 'rs_2' }),
      call({ id: 'fc_1', namespace: 'math' }),
    ]
    expect(await echo(content)).toEqual([
      thought,
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        phase: 'commentary',
        content: [{ type: 'output_text', text: 'So:', annotations: [] }],
      },
      { ...thought, id: 'rs_2' },
      { ...called, id: 'fc_1', namespace: 'math' },
    ])
  })

  test('goes without any id where one is missing: a part of it was written anew', async () => {
    const { id: _, ...idless } = thought
    expect(await echo([reasoning(thought), said('So:'), call({ id: 'fc_1' })])).toEqual([
      idless,
      { role: 'assistant', content: 'So:' },
      called,
    ])
  })

  test('goes without ids where it holds no reasoning', async () => {
    expect(await echo([said('So:', { id: 'msg_1', phase: 'final_answer' }), said(''), call({ id: 'fc_1' })], 'gpt-4.1')).toEqual([
      { role: 'assistant', content: 'So:', phase: 'final_answer' },
      called,
    ])
  })

  test.for([
    ['that is not encrypted', { ...thought, encrypted_content: null }],
    ['without its item', {}],
    ['of another API', { field: 'reasoning_content' }],
  ] as const)('goes without reasoning %s, and without the ids that belong to it', async ([, data]) => {
    expect(await echo([reasoning(data), call({ id: 'fc_1' })])).toEqual([called])
  })

  test('goes without reasoning that nothing follows', async () => {
    expect(await echo([reasoning(thought)])).toEqual([])
    expect(await echo([reasoning(thought), said('')])).toEqual([])
    const { id: _, ...idless } = thought
    expect(await echo([reasoning(thought), said('So:', { id: 'msg_1' }), reasoning(thought)])).toEqual([
      idless,
      { role: 'assistant', content: 'So:' },
    ])
  })

  test('goes without reasoning to a model that does not reason', async () => {
    expect(await echo([reasoning(thought), call({ id: 'fc_1' })], 'gpt-4.1')).toEqual([called])
    expect(await echo([reasoning(thought), call({ id: 'fc_1' })], 'my-deployment')).toEqual([thought, { ...called, id: 'fc_1' }])
  })

  test('goes without what another provider left in it', async () => {
    expect(
      await echo(
        [reasoning(thought), said('So:', { id: 'msg_1', phase: 'commentary' }), call({ id: 'fc_1', namespace: 'math' })],
        'gpt-5.2',
        'acme',
      ),
    ).toEqual([{ role: 'assistant', content: 'So:' }, called])
  })

  test('keeps reasoning in the open, and loses what the API refuses: null, a status of reasoning, who made an item', async () => {
    const open = { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] }
    const search = { type: 'web_search_call', id: 'ws_1', status: 'completed' }
    const content = [
      reasoning({ ...open, encrypted_content: null, status: 'completed' }),
      reasoning({ ...search, action: null, created_by: 'me' }),
      call({ id: 'fc_1' }),
    ]
    expect(await echo(content)).toEqual([open, search, { ...called, id: 'fc_1' }])
  })

  test('may hold reasoning of which only the words are left, which stays here', async () => {
    const words = { type: 'reasoning', text: 'hm' } as const
    expect(await echo([reasoning(thought), words, call({ id: 'fc_1', extra_content: 1 })])).toEqual([
      thought,
      { ...called, id: 'fc_1' },
    ])
  })

  test('goes without images that were made for it, which are not stored', async () => {
    const image = { type: 'image_generation_call', id: 'ig_1', status: 'completed', result: 'AAAA' }
    expect(await echo([reasoning(thought), reasoning(image), said('There.', { id: 'msg_1' })])).toEqual([
      { role: 'assistant', content: 'There.' },
    ])
  })
})
