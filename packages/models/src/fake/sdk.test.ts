import Anthropic from '@anthropic-ai/sdk'
import type { Usage } from '@koagent/core'
import OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { serve } from '../testing/serve.ts'
import type { FakeProvider, FakeStep } from './fake.ts'

/** What an SDK made of an answer, whatever its protocol. */
interface Heard {
  readonly id: string
  readonly model: string
  readonly text: string
  readonly reasoning: string
  readonly opaque: string | undefined
  readonly calls: readonly (readonly [id: string, name: string, args: unknown])[]
  readonly reason: string | null | undefined
  readonly usage: object | null | undefined
}

interface Client {
  readonly name: string
  readonly ask: (provider: FakeProvider, streamed: boolean) => Promise<Heard>
  readonly usage: object
  /** Of an answer with text, an answer with calls, and one that became too long. */
  readonly reasons: readonly [string, string, string]
  /** Opaque data, where the protocol has some. */
  readonly opaque: (data: string) => string | undefined
}

const messages = [{ role: 'user' as const, content: 'hi' }]
const usage: Usage = { inputTokens: 20, outputTokens: 9, cachedInputTokens: 8, cacheWriteTokens: 4, reasoningTokens: 3 }

const clients: readonly Client[] = [
  {
    name: 'OpenAI, chat completions',
    async ask({ baseURL }, streamed) {
      const { completions } = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 }).chat
      // OpenAI has no such field, so its client keeps no more than the last piece.
      let reasoning = ''
      const hear = (said: object): void => {
        if ('reasoning_content' in said) reasoning += String(said.reasoning_content)
      }
      const { id, model, choices, usage } = streamed
        ? await completions
            .stream({ model: 'm', messages, stream_options: { include_usage: true } })
            .on('chunk', (chunk) => chunk.choices.forEach(({ delta }) => hear(delta)))
            .finalChatCompletion()
        : await completions.create({ model: 'm', messages })
      const { message, finish_reason: reason } = choices[0] as (typeof choices)[0]
      const calls = (message.tool_calls ?? []).map((call) => {
        if (call.type !== 'function') throw new Error('no function')
        return [call.id, call.function.name, JSON.parse(call.function.arguments) as unknown] as const
      })
      if (!streamed) hear(message)
      return { id, model, text: message.content ?? '', reasoning, opaque: undefined, calls, reason, usage }
    },
    usage: {
      prompt_tokens: 20,
      completion_tokens: 9,
      total_tokens: 29,
      prompt_tokens_details: { cached_tokens: 8, cache_write_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 3 },
    },
    reasons: ['stop', 'tool_calls', 'length'],
    opaque: () => undefined,
  },
  {
    name: 'OpenAI, Responses',
    async ask({ baseURL }, streamed) {
      const { responses } = new OpenAI({ baseURL, apiKey: 'none', maxRetries: 0 })
      const response = streamed
        ? await responses.stream({ model: 'm', input: 'hi' }).finalResponse()
        : await responses.create({ model: 'm', input: 'hi' })
      const { id, model, output, output_text: text, status, incomplete_details: details, usage } = response
      const calls = output.flatMap((item) =>
        item.type === 'function_call' ? [[item.call_id, item.name, JSON.parse(item.arguments) as unknown] as const] : [],
      )
      const thought = output.flatMap((item) => (item.type === 'reasoning' ? [item] : []))[0]
      const reasoning = thought?.summary.map((part) => part.text).join('') ?? ''
      const opaque = thought?.encrypted_content ?? undefined
      return { id, model, text, reasoning, opaque, calls, reason: details?.reason ?? status, usage }
    },
    usage: {
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 8, cache_write_tokens: 4 },
      output_tokens: 9,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 29,
    },
    reasons: ['completed', 'completed', 'max_output_tokens'],
    opaque: (data) => data,
  },
  {
    name: 'Anthropic, messages',
    async ask({ url: baseURL }, streamed) {
      const client = new Anthropic({ baseURL, apiKey: 'none', maxRetries: 0 })
      const request = { model: 'm', messages, max_tokens: 100 }
      const message = streamed ? await client.messages.stream(request).finalMessage() : await client.messages.create(request)
      const { id, model, content, stop_reason: reason, usage } = message
      const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('')
      const thought = content.find((block) => block.type === 'thinking')
      const calls = content.flatMap((block) => (block.type === 'tool_use' ? [[block.id, block.name, block.input] as const] : []))
      return { id, model, text, reasoning: thought?.thinking ?? '', opaque: thought?.signature, calls, reason, usage }
    },
    usage: {
      input_tokens: 8,
      cache_read_input_tokens: 8,
      cache_creation_input_tokens: 4,
      output_tokens: 9,
      output_tokens_details: { thinking_tokens: 3 },
    },
    reasons: ['end_turn', 'tool_use', 'max_tokens'],
    opaque: (data) => data,
  },
]

const steps: readonly FakeStep[] = [
  { reasoning: 'Let me see.', text: 'It is 3.', usage },
  { text: 'I add.', toolCalls: [{ name: 'add', args: { a: 1 } }, { name: 'add', args: { a: 2 } }, { name: 'now' }] },
  { text: 'It is', finishReason: 'length' },
  {
    parts: [
      { type: 'reasoning_delta', text: 'Hm.' },
      { type: 'reasoning_end', providerData: 'mine' },
      { type: 'tool_call_delta', callId: 'a', toolName: 'add', delta: '{"n"' },
      { type: 'tool_call_delta', callId: 'b', toolName: 'mul', delta: '{' },
      { type: 'tool_call_delta', callId: 'a', toolName: 'add', delta: ':1}' },
      { type: 'tool_call', callId: 'a', toolName: 'add', args: '{"n":1}' },
      { type: 'tool_call_delta', callId: 'b', toolName: 'mul', delta: '"n":2}' },
      { type: 'tool_call', callId: 'b', toolName: 'mul', args: '{"n":2}' },
      { type: 'tool_call', callId: '', toolName: 'now', args: { n: 3 } },
      { type: 'finish', reason: 'tool_calls' },
    ],
  },
]

describe.for(clients)('$name', ({ ask, usage, reasons, opaque }) => {
  test.for([true, false])('understands every kind of answer (streamed: %s)', async (streamed) => {
    const provider = await serve(...steps)
    const heard: Heard[] = []
    for (const _ of steps) heard.push(await ask(provider, streamed))
    const [first, second, third, fourth] = heard
    expect(first).toMatchObject({ model: 'm', text: 'It is 3.', reasoning: 'Let me see.', calls: [], reason: reasons[0], usage })
    expect(first?.opaque).toBe(opaque('opaque-1-0'))
    expect(second).toMatchObject({ text: 'I add.', reasoning: '', reason: reasons[1] })
    expect(second?.calls).toEqual([
      ['call_1', 'add', { a: 1 }],
      ['call_2', 'add', { a: 2 }],
      ['call_3', 'now', {}],
    ])
    expect(third).toMatchObject({ text: 'It is', reason: reasons[2] })
    expect(fourth).toMatchObject({ text: '', reasoning: 'Hm.', opaque: opaque('mine') })
    expect(fourth?.calls.map(([, ...call]) => call)).toEqual([
      ['add', { n: 1 }],
      ['mul', { n: 2 }],
      ['now', { n: 3 }],
    ])
    expect(new Set(fourth?.calls.map(([id]) => id)).size).toBe(3)
    expect(fourth?.calls.every(([id]) => id !== '')).toBe(true)
    expect(new Set(heard.map(({ id }) => id)).size).toBe(4)
    expect(provider.requests.map(({ body }) => body['stream'] ?? false)).toEqual(steps.map(() => streamed))
  })

  test.for([true, false])('throws what is refused (streamed: %s)', async (streamed) => {
    const provider = await serve({ status: 418, headers: { 'x-more': 'y' }, body: { error: { message: 'I am a teapot' } } })
    await expect(ask(provider, streamed)).rejects.toMatchObject({
      status: 418,
      message: expect.stringContaining('teapot') as string,
    })
    await expect(ask(provider, streamed)).rejects.toMatchObject({
      status: 500,
      message: expect.stringContaining('request 2 to the fake provider, but only 1 answer was given') as string,
      headers: expect.objectContaining({}) as object,
    })
  })
})
