import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { ModelError } from '@koagent/core'
import type { JsonObject, Model, ModelPart, ModelRequest } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import OpenAI from 'openai'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { openaiCompatible } from '../openai-compatible/openai-compatible.ts'
import { demoModel } from './demo.ts'
import { serveModel } from './serve.ts'
import type { ServedModel } from './serve.ts'
import { user } from './testing/conversation.ts'
import { repository } from './testing/tools.ts'

const served: ServedModel[] = []
afterEach(async () => {
  for (const { close } of served.splice(0)) await close()
})

async function serve(model: Model): Promise<ServedModel> {
  const one = await serveModel(model)
  served.push(one)
  return one
}

/** A model that gives these parts, then fails where there is an error, and keeps what it was asked. */
function fixed(parts: readonly ModelPart[], error?: unknown): Model & { readonly requests: ModelRequest[] } {
  const requests: ModelRequest[] = []
  return {
    provider: 'acme',
    id: 'fixed',
    requests,
    async *stream(request) {
      requests.push(request)
      yield* parts
      if (error !== undefined) throw error
    },
  }
}

const messages = [{ role: 'user', content: 'hi' }]
const done: ModelPart = { type: 'finish', reason: 'stop' }

async function post({ baseURL }: ServedModel, body: JsonObject | string): Promise<Response> {
  return fetch(`${baseURL}/chat/completions`, { method: 'POST', body: typeof body === 'string' ? body : JSON.stringify(body) })
}

/** The data of every frame of a stream. */
async function frames(server: ServedModel, body: JsonObject = {}): Promise<unknown[]> {
  const response = await post(server, { model: 'm', messages, stream: true, ...body })
  const text = await response.text()
  expect(text).toMatch(/^(data: .+\n\n)*$/)
  const data = text
    .split('\n\n')
    .filter(Boolean)
    .map((frame) => frame.slice('data: '.length))
  return data.map((json) => (json === '[DONE]' ? json : (JSON.parse(json) as unknown)))
}

const chunk = (delta: JsonObject, finish_reason: string | null = null) => ({
  id: expect.stringMatching(/^chatcmpl-/) as string,
  object: 'chat.completion.chunk',
  created: expect.any(Number) as number,
  model: 'fixed',
  choices: [{ index: 0, delta, logprobs: null, finish_reason }],
})

const answer: ModelPart[] = [
  { type: 'reasoning_delta', text: 'hm' },
  { type: 'text_delta', text: 'Let ' },
  { type: 'text_delta', text: 'me' },
  { type: 'tool_call_delta', callId: 'a', toolName: 'add', delta: '{"n"' },
  { type: 'tool_call_delta', callId: 'a', toolName: 'add', delta: ':1}' },
  { type: 'tool_call', callId: 'a', toolName: 'add', args: '{"n":1}' },
  { type: 'tool_call', callId: 'b', toolName: 'add', args: { n: 2 } },
  { type: 'usage', usage: { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4 } },
  { type: 'finish', reason: 'tool_calls' },
]
const usage = {
  prompt_tokens: 10,
  completion_tokens: 5,
  total_tokens: 15,
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 0 },
}

describe('answers', () => {
  test('a stream is a role, deltas, a finish reason, the usage where it is wanted, [DONE]', async () => {
    const server = await serve(fixed(answer))
    const expected = [
      chunk({ role: 'assistant', content: '' }),
      chunk({ reasoning_content: 'hm' }),
      chunk({ content: 'Let ' }),
      chunk({ content: 'me' }),
      chunk({ tool_calls: [{ index: 0, id: 'a', type: 'function', function: { name: 'add', arguments: '' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"n"' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
      chunk({ tool_calls: [{ index: 1, id: 'b', type: 'function', function: { name: 'add', arguments: '' } }] }),
      chunk({ tool_calls: [{ index: 1, function: { arguments: '{"n":2}' } }] }),
      chunk({}, 'tool_calls'),
    ]
    const plain = await frames(server)
    expect(plain).toEqual([...expected, '[DONE]'])
    expect(new Set(plain.slice(0, -1).map((frame) => (frame as { id: string }).id)).size).toBe(1)
    const { choices: _, ...head } = chunk({})
    expect(await frames(server, { stream_options: { include_usage: true } })).toEqual([
      ...expected,
      { ...head, choices: [], usage },
      '[DONE]',
    ])
  })

  test('a whole answer is one completion', async () => {
    const response = await post(await serve(fixed(answer)), { messages })
    expect(await response.json()).toEqual({
      id: expect.stringMatching(/^chatcmpl-/) as string,
      object: 'chat.completion',
      created: expect.any(Number) as number,
      model: 'fixed',
      choices: [
        {
          index: 0,
          message: {
            role: 'assistant',
            content: 'Let me',
            refusal: null,
            reasoning_content: 'hm',
            tool_calls: [
              { id: 'a', type: 'function', function: { name: 'add', arguments: '{"n":1}' } },
              { id: 'b', type: 'function', function: { name: 'add', arguments: '{"n":2}' } },
            ],
          },
          logprobs: null,
          finish_reason: 'tool_calls',
        },
      ],
      usage,
    })
  })

  test('calls without ids stay apart and get one', async () => {
    const call = (n: number): ModelPart[] => [
      { type: 'tool_call_delta', callId: '', toolName: 'add', delta: `{"n":${n}}` },
      { type: 'tool_call', callId: '', toolName: 'add', args: `{"n":${n}}` },
    ]
    const server = await serve(fixed([...call(1), ...call(2), done]))
    const response = (await (await post(server, { messages })).json()) as OpenAI.ChatCompletion
    const calls = response.choices[0]?.message.tool_calls ?? []
    expect(calls.map((one) => one.type === 'function' && one.function.arguments)).toEqual(['{"n":1}', '{"n":2}'])
    expect(new Set(calls.map(({ id }) => id)).size).toBe(2)
  })

  test('a stream that breaks off in the model breaks off here', async () => {
    expect((await frames(await serve(fixed([{ type: 'text_delta', text: 'half' }])))).at(-1)).toEqual(chunk({ content: 'half' }))
  })

  test('the list of models', async () => {
    const { baseURL } = await serve(demoModel())
    const list = (await (await fetch(`${baseURL}/models`)).json()) as JsonObject
    expect(list).toEqual({
      object: 'list',
      data: [{ id: 'demo-rule-planner', object: 'model', created: 0, owned_by: 'koagent' }],
    })
  })
})

describe('requests', () => {
  test('every part of a request reaches the model', async () => {
    const model = fixed([done])
    const call = (id: string, args: string) => ({ id, type: 'function', function: { name: 'add', arguments: args } })
    await post(await serve(model), {
      model: 'm',
      messages: [
        { role: 'system', content: 'be' },
        { role: 'developer', content: [{ type: 'text', text: 'brief' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'see' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
            { type: 'input_audio' },
          ],
        },
        { role: 'assistant', content: null, tool_calls: [call('a', '{"n":1}'), call('b', 'oops')] },
        { role: 'tool', tool_call_id: 'a', content: '2' },
        { role: 'tool', tool_call_id: 'b', content: [{ type: 'text', text: 'Permission denied: no' }] },
        { role: 'assistant', content: 'So: 2' },
        { role: 'system', content: 'late' },
      ],
      tools: [
        { type: 'function', function: { name: 'add', description: 'Adds', parameters: { type: 'object' } } },
        { type: 'function', function: { name: 'bare' } },
      ],
      tool_choice: { type: 'function', function: { name: 'add' } },
      max_completion_tokens: 9,
      temperature: 0.5,
      top_p: 0.9,
      seed: 7,
      stop: 'END',
    })
    const text = (words: string) => ({ type: 'text', text: words })
    expect(model.requests).toEqual([
      {
        system: 'be\n\nbrief',
        messages: [
          {
            role: 'user',
            content: [text('see'), { type: 'image', mediaType: 'image/png', data: 'AAAA' }, text('[input_audio]')],
          },
          {
            role: 'assistant',
            content: [
              { type: 'tool_call', callId: 'a', toolName: 'add', args: { n: 1 } },
              { type: 'tool_call', callId: 'b', toolName: 'add', args: {}, rawArgs: 'oops' },
            ],
          },
          {
            role: 'tool',
            content: [
              { type: 'tool_result', callId: 'a', toolName: 'add', content: [text('2')], isError: false },
              { type: 'tool_result', callId: 'b', toolName: 'add', content: [text('Permission denied: no')], isError: true },
            ],
          },
          { role: 'assistant', content: [text('So: 2')] },
          { role: 'system', content: [text('late')] },
        ],
        tools: [
          { name: 'add', description: 'Adds', inputSchema: { type: 'object' } },
          { name: 'bare', description: '', inputSchema: { type: 'object', properties: {} } },
        ],
        toolChoice: { toolName: 'add' },
        settings: { maxOutputTokens: 9, temperature: 0.5, topP: 0.9, seed: 7, stop: ['END'] },
      },
    ])
  })

  const bad: readonly (readonly [what: string, body: JsonObject | string, message: RegExp])[] = [
    ['no JSON', '{', /no JSON/],
    ['no object', '[]', /must be a JSON object/],
    ['no messages', { messages: [] }, /at least one message/],
    ['a message without a role', { messages: [{ content: 'hi' }] }, /messages\[0\]' must be an object with a role/],
    ['an unknown role', { messages: [{ role: 'boss' }] }, /unknown role 'boss'/],
    ['a result without its call', { messages: [{ role: 'tool', tool_call_id: 'x', content: '' }] }, /the call 'x'/],
    ['a tool without a name', { messages, tools: [{}] }, /tools\[0\]/],
  ]
  test.for(bad)('%s is a bad request', async ([, body, message]) => {
    const response = await post(await serve(fixed([done])), body)
    expect(response.status).toBe(400)
    expect(await response.json()).toEqual({
      error: { message: expect.stringMatching(message) as string, type: 'invalid_request_error', param: null, code: null },
    })
  })

  test('an unknown route is not found', async () => {
    const { url } = await serve(fixed([done]))
    for (const [path, method] of [
      ['/', 'GET'],
      ['/v1/chat/completions', 'GET'],
      ['/v1/models', 'POST'],
    ] as const) {
      const response = await fetch(url + path, { method })
      expect([response.status, ((await response.json()) as { error: JsonObject }).error['code']]).toEqual([404, 'unknown_url'])
    }
  })
})

describe('failures', () => {
  const limited = new ModelError('slow down', { status: 429, retryable: true, retryAfterMs: 1500, code: 'rate_limit' })

  test.for([true, false])('before the first part: the status of the error (stream %s)', async (stream) => {
    const response = await post(await serve(fixed([], limited)), { messages, stream })
    expect(response.status).toBe(429)
    expect([response.headers.get('retry-after-ms'), response.headers.get('retry-after')]).toEqual(['1500', '2'])
    expect(await response.json()).toEqual({
      error: { message: 'slow down', type: 'rate_limit_error', param: null, code: 'rate_limit' },
    })
    expect((await post(await serve(fixed([], new Error('oh'))), { messages, stream })).status).toBe(500)
  })

  test('later: an error frame, and no [DONE]', async () => {
    const all = await frames(await serve(fixed([{ type: 'text_delta', text: 'half' }], new Error('oh'))))
    expect(all.at(-1)).toEqual({ error: { message: 'oh', type: 'server_error', param: null, code: null } })
  })
})

describe('a client that goes away', () => {
  /** A model that talks until it is aborted. */
  function endless(): Model & { readonly reason: Promise<unknown> } {
    let resolve: (reason: unknown) => void = () => {}
    const reason = new Promise<unknown>((settle) => (resolve = settle))
    return {
      provider: 'acme',
      id: 'endless',
      reason,
      async *stream(_, { signal }) {
        signal.addEventListener('abort', () => resolve(signal.reason))
        for (;;) yield { type: 'text_delta', text: 'and on ' }
      },
    }
  }

  test.for([true, false])('aborts the model (stream %s)', async (stream) => {
    const model = endless()
    const { baseURL } = await serve(model)
    const request = httpRequest(`${baseURL}/chat/completions`, { method: 'POST' })
    request.on('error', () => {})
    request.end(JSON.stringify({ messages, stream }))
    if (stream) request.on('response', (response) => response.once('data', () => request.destroy()))
    else void setTimeout(50).then(() => request.destroy())
    expect(await model.reason).toEqual(new Error('the client closed the connection'))
  })

  test('that only reads slowly is waited for', async () => {
    let given = 0
    const model = fixed([])
    const server = await serve({
      ...model,
      async *stream() {
        for (;;) yield { type: 'text_delta', text: String(given++).padEnd(50_000) }
      },
    })
    const request = httpRequest(`${server.baseURL}/chat/completions`, { method: 'POST' })
    request.end(JSON.stringify({ messages, stream: true }))
    await once(request, 'response')
    // Whatever the buffers on the way hold, they fill.
    await vi.waitFor(async () => {
      const before = given
      await setTimeout(100)
      expect(given).toBe(before)
      expect(given).toBeLessThan(1000)
    }, 10_000)
    request.destroy()
  })

  test('closing the server ends what is open', async () => {
    const model = endless()
    const server = await serve(model)
    const response = await post(server, { messages, stream: true })
    await server.close()
    await model.reason
    await expect(response.text()).rejects.toThrow('terminated')
    await expect(fetch(server.url)).rejects.toThrow('fetch failed')
    await server.close()
  })
})

describe('through the official SDK', () => {
  const client = ({ baseURL }: ServedModel) => new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 })

  test('streams and whole answers', async () => {
    const openai = client(
      await serve(scripted([{ text: 'It is 3.' }, { text: 'It is 4.', usage: { inputTokens: 2, outputTokens: 1 } }])),
    )
    const stream = openai.chat.completions.stream({
      model: 'm',
      messages: [{ role: 'user', content: 'hi' }],
      stream_options: { include_usage: true },
    })
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toBe('It is 3.')
    const whole = await openai.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }] })
    expect([whole.choices[0]?.message.content, whole.usage?.total_tokens]).toEqual(['It is 4.', 3])
    expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(['scripted'])
  })

  test('an error frame is thrown by it', async () => {
    const openai = client(await serve(fixed([{ type: 'text_delta', text: 'half' }], new Error('oh'))))
    const stream = await openai.chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'hi' }], stream: true })
    const read = async () => {
      for await (const _ of stream);
    }
    await expect(read()).rejects.toThrow('oh')
  })

  test('the demo model says and calls the same behind HTTP as without', async () => {
    const direct = demoModel()
    const remote = openaiCompatible({ baseURL: (await serve(direct)).baseURL, model: direct.id })
    const request: ModelRequest = { messages: [user('list the files and read "a b.txt"')], tools: repository }
    const heard = async (model: Model) => {
      const parts: ModelPart[] = []
      for await (const part of model.stream(request, { signal: new AbortController().signal })) parts.push(part)
      const words = parts.flatMap((part) => (part.type === 'text_delta' ? [part.text] : []))
      return [words, parts.filter((part) => part.type === 'tool_call'), parts.find((part) => part.type === 'finish')?.reason]
    }
    const [near, far] = [await heard(direct), await heard(remote)]
    expect(far).toEqual(near)
    expect(near[1]).toHaveLength(2)
  })
})
