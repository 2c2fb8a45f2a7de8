import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { ModelError } from '@koagent/core'
import type { JsonObject } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { serve } from '../testing/serve.ts'
import type { FakeEnd, FakeProvider } from './fake.ts'

const paths = ['/chat/completions', '/responses', '/messages'] as const
const last = { '/chat/completions': '[DONE]', '/responses': 'response.completed', '/messages': 'message_stop' }

function post(provider: FakeProvider, body: JsonObject | string = {}, path: string = paths[0]): Promise<Response> {
  const text = typeof body === 'string' ? body : JSON.stringify({ stream: true, ...body })
  return fetch(provider.baseURL + path, { method: 'POST', body: text })
}

/** The pieces of a body as they arrive, and how it ended. */
async function pieces(response: Response): Promise<{ readonly all: readonly Uint8Array[]; readonly whole: boolean }> {
  const all: Uint8Array[] = []
  try {
    for await (const piece of response.body ?? []) all.push(piece)
    return { all, whole: true }
  } catch {
    return { all, whole: false }
  }
}

function textOf(all: readonly Uint8Array[]): string {
  return Buffer.concat(all).toString()
}

describe('frames', () => {
  test('arrive piece by piece, as they are', async () => {
    const euro = Buffer.from('€')
    const frames = ['data: {', '"a"', euro.subarray(0, 1), euro.subarray(1), '\r', '\n', '\n', ': x'.repeat(5000)]
    const { all, whole } = await pieces(await post(await serve({ frames })))
    expect(whole).toBe(true)
    expect(all.map((piece) => Buffer.from(piece).toString('hex'))).toEqual(
      frames.map((piece) => Buffer.from(piece as string).toString('hex')),
    )
  })

  test('may end with a lost connection', async () => {
    const { all, whole } = await pieces(await post(await serve({ frames: ['half'], end: 'reset' })))
    expect([textOf(all), whole]).toEqual(['half', false])
  })

  test('may be none, behind a head that comes at once', async () => {
    const provider = await serve({ frames: [], end: 'hang' })
    const response = await post(provider)
    expect(response.headers.get('content-type')).toMatch('text/event-stream')
    expect(await stateOf(provider)).toBe('open')
  })
})

/** How a request ended, or that it has not. */
async function stateOf(provider: FakeProvider): Promise<string | undefined> {
  return Promise.race([provider.requests[0]?.ended, setTimeout(100, 'open')])
}

describe.for(paths)('a step through %s', (path) => {
  test('is streamed word by word', async () => {
    const { all, whole } = await pieces(await post(await serve({ text: 'one two three' }), {}, path))
    expect(whole).toBe(true)
    const words = all.map((piece) => /"(?:content|text|delta)":"(one |two |three)"/.exec(Buffer.from(piece).toString())?.[1])
    expect(words.filter(Boolean)).toEqual(['one ', 'two ', 'three'])
    expect(textOf(all.slice(-1))).toMatch(last[path])
  })

  test.for<[FakeEnd, boolean, string]>([
    ['cut', true, 'sent'],
    ['reset', false, 'sent'],
    ['hang', false, 'left'],
  ])('may end with: %s', async ([end, isWhole, state]) => {
    const provider = await serve({ text: 'one two', end })
    const leave = new AbortController()
    const body = JSON.stringify({ stream: true })
    const response = await fetch(provider.baseURL + path, { method: 'POST', body, signal: leave.signal })
    const reading = pieces(response)
    if (end === 'hang') {
      expect(await stateOf(provider)).toBe('open')
      leave.abort()
    }
    const { all, whole } = await reading
    expect(whole).toBe(isWhole)
    expect(textOf(all)).toMatch('two')
    expect(textOf(all)).not.toMatch(/\[DONE\]|"stop"|_stop|\.done|completed/)
    expect(await provider.requests[0]?.ended).toBe(state)
  })

  test.for<FakeEnd>(['cut', 'reset'])('that is not streamed is half a body, where it ends with: %s', async (end) => {
    const { all, whole } = await pieces(await post(await serve({ text: 'one two', end }), { stream: false }, path))
    expect(() => JSON.parse(textOf(all)) as unknown).toThrow(SyntaxError)
    expect([textOf(all)[0], whole]).toEqual(['{', end === 'cut'])
  })

  test('whose parts have no finish is cut', async () => {
    const { all, whole } = await pieces(await post(await serve({ parts: [{ type: 'text_delta', text: 'one' }] }), {}, path))
    expect([whole, textOf(all).includes(last[path])]).toEqual([true, false])
  })

  test('that fails before it says anything is an HTTP error', async () => {
    const error = new ModelError('slow down', { status: 429, retryable: true, retryAfterMs: 1500 })
    const response = await post(await serve({ error }), {}, path)
    expect([response.status, response.headers.get('retry-after-ms'), response.headers.get('x-should-retry')]).toEqual([
      429,
      '1500',
      null,
    ])
    const { error: told } = (await response.json()) as { error: JsonObject }
    expect(told).toMatchObject({ message: 'slow down', type: 'rate_limit_error' })
  })

  test.for([
    [new ModelError('oh', { retryable: false }), 'invalid_request_error'],
    [new ModelError('oh', { status: 529, retryable: true }), path === '/messages' ? 'overloaded_error' : 'server_error'],
    [new Error('oh'), path === '/messages' ? 'api_error' : 'server_error'],
  ] as const)('that fails later ends with an error frame: %j', async ([error, type]) => {
    const { all, whole } = await pieces(await post(await serve({ text: 'one', error }), {}, path))
    const frame = textOf(all).trim().split('\n\n').at(-1) ?? ''
    expect(whole).toBe(true)
    expect(frame).toMatch('"message":"oh"')
    expect(frame).toMatch(`:"${type}"`)
    expect(frame.startsWith('event: error\n')).toBe(path !== '/chat/completions')
  })

  test('that waits says nothing until then', async () => {
    const provider = await serve({ text: 'one', delayMs: 80 })
    const begun = performance.now()
    await post(provider, {}, path)
    expect(performance.now() - begun).toBeGreaterThan(70)
  })

  test('with an early end and nothing else does not even begin', async () => {
    const provider = await serve({ end: 'hang' })
    const leave = new AbortController()
    const answered = fetch(provider.baseURL + path, { method: 'POST', body: '{"stream":true}', signal: leave.signal })
    const outcome = Promise.race([answered.catch(() => 'left'), setTimeout(100, 'nothing')])
    expect(await outcome).toBe('nothing')
    leave.abort()
    expect(await provider.requests[0]?.ended).toBe('left')
  })
})

describe('refusals', () => {
  test('are sent as they are given', async () => {
    const provider = await serve(
      { status: 503, headers: { 'retry-after': '2', 'content-type': 'text/html' }, body: '<html>' },
      { status: 429, body: { error: { message: 'slow down' } } },
    )
    const first = await post(provider)
    expect([first.status, first.headers.get('retry-after'), first.headers.get('content-type'), await first.text()]).toEqual([
      503,
      '2',
      'text/html',
      '<html>',
    ])
    expect(await (await post(provider)).json()).toEqual({ error: { message: 'slow down' } })
    expect(await provider.requests[1]?.ended).toBe('sent')
  })

  test.for(paths)('without a body get one that %s has', async (path) => {
    const response = await post(await serve({ status: 401 }), {}, path)
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining('401') as string } })
    expect(response.headers.get(path === '/messages' ? 'request-id' : 'x-request-id')).toBe('req_1')
  })

  test('follow the last answer, and are not to be retried', async () => {
    const provider = await serve({ text: 'one' }, { text: 'two' })
    for (let i = 0; i < 2; i++) await (await post(provider)).text()
    const response = await post(provider)
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([500, 'false'])
    expect(await response.text()).toMatch('request 3 to the fake provider, but only 2 answers were given: add an answer')
    expect(provider.requests).toHaveLength(3)
  })

  test('meet what no protocol has, which no answer is spent on', async () => {
    const provider = await serve({ text: 'one' })
    const unknown = await post(provider, {}, '/completions')
    expect([unknown.status, await unknown.text()]).toEqual([
      404,
      expect.stringMatching('no POST /v1/completions, only POST …/chat/completions, POST …/responses, POST …/messages') as string,
    ])
    expect((await fetch(`${provider.baseURL}/messages`)).status).toBe(404)
    for (const body of ['{', '[]', 'null', '']) expect((await post(provider, body)).status).toBe(400)
    expect(provider.requests).toEqual([])
    expect((await post(provider)).status).toBe(200)
  })
})

describe('requests', () => {
  test('are kept, and an answer can be made from them', async () => {
    const provider = await serve(({ body, protocol }) => ({ text: `${protocol} ${String(body['model'])}` }))
    const path = '/openai/deployments/x/chat/completions?api-version=1'
    const response = await fetch(provider.url + path, {
      method: 'POST',
      headers: { 'X-Mine': 'yes' },
      body: '{"model":"m"}',
    })
    expect(await response.text()).toMatch('"content":"chat m"')
    expect(provider.requests).toMatchObject([{ path, protocol: 'chat', body: { model: 'm' }, headers: { 'x-mine': 'yes' } }])
  })

  test('whose function fails are refused', async () => {
    const provider = await serve(() => {
      throw new Error('oh')
    })
    const response = await post(provider)
    expect([response.status, response.headers.get('x-should-retry')]).toEqual([500, 'false'])
    expect(await response.text()).toMatch('the function that makes the answer to request 1 failed: oh')
  })

  test('that a client leaves are told from those that were answered', async () => {
    const provider = await serve({ text: 'word '.repeat(100_000) }, { text: 'one' })
    const request = httpRequest(`${provider.baseURL}/messages`, { method: 'POST' })
    request.on('error', () => {})
    request.end('{"stream":true}')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    response.on('error', () => {})
    await once(response, 'data')
    request.destroy()
    expect(await provider.requests[0]?.ended).toBe('left')
    await (await post(provider)).text()
    expect(await provider.requests[1]?.ended).toBe('sent')
  })
})

test('close ends what is open', async () => {
  const provider = await serve({ text: 'one', end: 'hang' })
  const reading = pieces(await post(provider))
  await provider.close()
  expect((await reading).whole).toBe(false)
  expect(await provider.requests[0]?.ended).toBe('closed')
  await expect(post(provider)).rejects.toThrow('fetch failed')
})
