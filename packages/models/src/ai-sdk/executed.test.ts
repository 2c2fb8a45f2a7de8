import { Agent, defineTool } from '@koagent/core'
import type { Message } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { partsOf } from '../testing/wire.ts'
import { fromAISDK } from './ai-sdk.ts'
import { answering, finishPart, reasoning, standIn, streamOf, text, toolCall, versions } from './testing/stand-in.ts'

const executed = { toolCallId: 'srv1', toolName: 'web_search' }
const caller = { acme: { caller: 'direct' } }
const search = [
  { type: 'tool-input-start', id: 'srv1', toolName: 'web_search', providerExecuted: true },
  { type: 'tool-input-delta', id: 'srv1', delta: '{"query":"x"}' },
  { type: 'tool-call', ...executed, input: '{"query":"x"}', providerExecuted: true, providerMetadata: caller },
]
const result = { type: 'tool-result', ...executed, result: [{ url: 'u' }] }
const prompt = [
  { type: 'tool-call', ...executed, input: { query: 'x' }, providerExecuted: true, providerOptions: caller },
  { type: 'tool-result', ...executed, output: { type: 'json', value: [{ url: 'u' }] } },
]

describe.for(versions)('what a provider of %s executes itself', (version) => {
  test('is no call of the run, and is passed on', async () => {
    const { model } = standIn(version, [...search, result, finishPart(version, { reason: 'stop', raw: 'stop' })])
    expect(await partsOf(fromAISDK(model))).toEqual([
      { type: 'raw', value: search[2] },
      { type: 'reasoning_end', blockId: 'tool-call:srv1', providerData: prompt[0] },
      { type: 'raw', value: result },
      { type: 'reasoning_end', blockId: 'tool-result:srv1', providerData: prompt[1] },
      { type: 'finish', reason: 'stop', rawReason: 'stop' },
    ])
  })

  test('goes back in its place in the next request', async () => {
    const streams = [
      [...reasoning('0', 'hmm'), ...text('1', 'a'), ...search, { ...result, preliminary: true, result: 'soon' }, result],
      text('5', 'done'),
    ]
    streams[0]?.push(...text('3', 'b'), ...toolCall('c1', 'add', '{"n":1}'))
    const { model, calls } = answering(version, (cancelled) =>
      streamOf([...(streams.shift() ?? []), finishPart(version, { reason: 'stop', raw: 'stop' })], { open: false, cancelled }),
    )
    const add = defineTool({ name: 'add', description: 'Adds.', input: z.object({ n: z.number() }), execute: () => 'ok' })
    const { text: said } = await new Agent({ model: fromAISDK(model), tools: [add] }).run('go')
    expect(said).toBe('done')
    expect(calls[1]?.prompt.slice(1)).toEqual([
      {
        role: 'assistant',
        content: [
          { type: 'reasoning', text: 'hmm' },
          { type: 'text', text: 'a' },
          ...prompt,
          { type: 'text', text: 'b' },
          { type: 'tool-call', toolCallId: 'c1', toolName: 'add', input: { n: 1 } },
        ],
      },
      {
        role: 'tool',
        content: [{ type: 'tool-result', toolCallId: 'c1', toolName: 'add', output: { type: 'text', value: 'ok' } }],
      },
    ])
  })

  test('goes back as an error when it failed, and content of a kind of its own as it is', async () => {
    const custom = { type: 'custom', kind: 'acme.compaction', providerMetadata: { acme: { id: 'cmp1' } } }
    const failed = { ...result, isError: true, result: { code: 'gone' } }
    const { model, calls } = standIn(version, [
      failed,
      custom,
      ...text('1', 'hi'),
      finishPart(version, { reason: 'stop', raw: 'stop' }),
    ])
    const { messages } = await new Agent({ model: fromAISDK(model) }).run('go')
    await partsOf(fromAISDK(model), { messages: [...messages], tools: [] })
    expect(calls[1]?.prompt.at(-1)).toEqual({
      role: 'assistant',
      content: [
        { type: 'tool-result', ...executed, output: { type: 'error-json', value: { code: 'gone' } } },
        { type: 'custom', kind: 'acme.compaction', providerOptions: { acme: { id: 'cmp1' } } },
        { type: 'text', text: 'hi' },
      ],
    })
  })

  test('is dropped for another provider', async () => {
    const { model } = standIn(version, [
      ...search,
      result,
      ...text('1', 'hi'),
      finishPart(version, { reason: 'stop', raw: 'stop' }),
    ])
    const { messages } = await new Agent({ model: fromAISDK(model) }).run('go')
    const other = standIn(version, [...text('1', 'hi'), finishPart(version, { reason: 'stop', raw: 'stop' })])
    const session: Message[] = [...messages]
    await partsOf(fromAISDK({ ...other.model, provider: 'other' }), { messages: session, tools: [] })
    expect(other.calls[0]?.prompt.at(-1)).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'hi' }] })
  })
})
