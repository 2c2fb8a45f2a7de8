import type { ModelPart } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { partsOf } from '../testing/wire.ts'
import { fromAISDK } from './ai-sdk.ts'
import { finishPart, reasoning, standIn, text, toolCall, versions } from './testing/stand-in.ts'
import type { Finish } from './testing/stand-in.ts'

const stop: Finish = { reason: 'stop', raw: 'stop' }
const signed = { acme: { signature: 's1' } }

interface Case {
  readonly name: string
  readonly stream: readonly object[]
  readonly finish?: Finish
  /** Without the usage and the finish. */
  readonly parts: readonly ModelPart[]
}

const cases: readonly Case[] = [
  {
    name: 'text',
    stream: text('1', 'Hel', '', 'lo'),
    parts: [
      { type: 'text_delta', text: 'Hel' },
      { type: 'text_delta', text: 'lo' },
    ],
  },
  {
    name: 'text with metadata at its start and end',
    stream: [
      { type: 'text-start', id: '1', providerMetadata: { acme: { itemId: 'i1' } } },
      { type: 'text-delta', id: '1', delta: 'hi' },
      { type: 'text-end', id: '1', providerMetadata: { acme: { itemId: 'i1', citations: [1] } } },
    ],
    parts: [
      { type: 'text_delta', text: 'hi' },
      { type: 'text_end', providerData: { acme: { itemId: 'i1', citations: [1] } } },
    ],
  },
  {
    name: 'two blocks of text',
    stream: [...text('1', 'a'), ...text('2'), ...text('3', 'b')],
    parts: [{ type: 'text_delta', text: 'a' }, { type: 'text_end' }, { type: 'text_delta', text: 'b' }],
  },
  {
    name: 'reasoning that is signed by a delta, then text',
    stream: [
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'hmm' },
      { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: signed },
      { type: 'reasoning-end', id: '0' },
      ...text('1', 'hi'),
    ],
    parts: [
      { type: 'reasoning_delta', text: 'hmm' },
      { type: 'reasoning_end', providerData: signed },
      { type: 'text_delta', text: 'hi' },
    ],
  },
  {
    name: 'reasoning without text',
    stream: [
      { type: 'reasoning-start', id: '0', providerMetadata: signed },
      { type: 'reasoning-end', id: '0' },
      ...reasoning('1'),
    ],
    parts: [{ type: 'reasoning_end', providerData: signed }],
  },
  {
    name: 'reasoning without metadata',
    stream: [...reasoning('0', 'a'), ...reasoning('1', 'b')],
    parts: [
      { type: 'reasoning_delta', text: 'a' },
      { type: 'reasoning_end' },
      { type: 'reasoning_delta', text: 'b' },
      { type: 'reasoning_end' },
    ],
  },
  {
    name: 'blocks of one id side by side',
    stream: [
      { type: 'reasoning-start', id: '0' },
      { type: 'text-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'a' },
      { type: 'text-delta', id: '0', delta: 'x' },
      { type: 'reasoning-delta', id: '0', delta: 'b', providerMetadata: signed },
      { type: 'text-end', id: '0' },
      { type: 'reasoning-end', id: '0' },
    ],
    parts: [
      { type: 'reasoning_delta', text: 'a' },
      { type: 'reasoning_delta', text: 'b' },
      { type: 'reasoning_end', providerData: signed },
      { type: 'text_delta', text: 'x' },
    ],
  },
  {
    name: 'blocks without a start or an end',
    stream: [
      { type: 'text-delta', id: '1', delta: 'a' },
      { type: 'reasoning-delta', id: '2', delta: 'b' },
      { type: 'text-end', id: '9' },
    ],
    parts: [{ type: 'text_delta', text: 'a' }, { type: 'reasoning_delta', text: 'b' }, { type: 'reasoning_end' }],
  },
  {
    name: 'parallel calls',
    stream: [
      { type: 'tool-input-start', id: 'a', toolName: 'add' },
      { type: 'tool-input-start', id: 'b', toolName: 'mul' },
      { type: 'tool-input-delta', id: 'a', delta: '{"n"' },
      { type: 'tool-input-delta', id: 'b', delta: '{}' },
      { type: 'tool-input-delta', id: 'a', delta: ':1}' },
      { type: 'tool-call', toolCallId: 'a', toolName: 'add', input: '{"n":1}', providerMetadata: signed },
      { type: 'tool-call', toolCallId: 'b', toolName: 'mul', input: '{}' },
    ],
    finish: { reason: 'tool-calls', raw: 'tool_use' },
    parts: [
      { type: 'tool_call_delta', callId: 'a', toolName: 'add', delta: '{"n"' },
      { type: 'tool_call_delta', callId: 'b', toolName: 'mul', delta: '{}' },
      { type: 'tool_call_delta', callId: 'a', toolName: 'add', delta: ':1}' },
      { type: 'tool_call', callId: 'a', toolName: 'add', args: '{"n":1}', providerData: signed },
      { type: 'tool_call', callId: 'b', toolName: 'mul', args: '{}' },
    ],
  },
  {
    name: 'a call without deltas, with an object for its input',
    stream: [{ type: 'tool-call', toolCallId: 'a', toolName: 'add', input: { n: 1 } }],
    finish: { reason: 'tool-calls' },
    parts: [{ type: 'tool_call', callId: 'a', toolName: 'add', args: '{"n":1}' }],
  },
  {
    name: 'a call in a block of text that ends only after it',
    stream: [text('1', 'a')[0], text('1', 'a')[1], ...toolCall('a', 'add', '{}'), { type: 'text-end', id: '1' }] as object[],
    finish: { reason: 'tool-calls' },
    parts: [
      { type: 'text_delta', text: 'a' },
      { type: 'tool_call_delta', callId: 'a', toolName: 'add', delta: '{}' },
      { type: 'tool_call', callId: 'a', toolName: 'add', args: '{}' },
    ],
  },
]

describe.for(versions)('a stream of %s', (version) => {
  test.for(cases)('with $name', async ({ stream, finish = stop, parts }) => {
    const { model } = standIn(version, [...stream, finishPart(version, finish)])
    const given = await partsOf(fromAISDK(model))
    expect(given.slice(0, -1)).toEqual(parts)
    expect(given.at(-1)?.type).toBe('finish')
  })

  test('whose blocks end with the stream only lets text out as it comes', async () => {
    const stream = [
      { type: 'reasoning-start', id: 'reasoning-0' },
      { type: 'reasoning-delta', id: 'reasoning-0', delta: 'hmm' },
      { type: 'text-start', id: 'txt-0' },
      { type: 'text-delta', id: 'txt-0', delta: 'hi' },
    ]
    const { model } = standIn(version, stream, { open: true })
    const parts: ModelPart[] = []
    for await (const part of fromAISDK(model).stream({ messages: [], tools: [] }, { signal: new AbortController().signal })) {
      parts.push(part)
      if (part.type === 'text_delta') break
    }
    expect(parts.map(({ type }) => type)).toEqual(['reasoning_delta', 'reasoning_end', 'text_delta'])
  })

  test.for([
    ['stop', 'stop'],
    ['length', 'length'],
    ['content-filter', 'content_filter'],
    ['tool-calls', 'tool_calls'],
    ['error', 'error'],
    ['other', 'other'],
    ['something-new', 'other'],
  ] as const)('that finishes with %s', async ([reason, expected]) => {
    const { model } = standIn(version, [finishPart(version, { reason, raw: 'END' })])
    const rawReason = version === 'v2' ? reason : 'END'
    expect(await partsOf(fromAISDK(model))).toEqual([{ type: 'finish', reason: expected, rawReason }])
  })

  test("that says 'stop' beside a call finished for the call", async () => {
    const { model } = standIn(version, [...toolCall('a', 'add', '{}'), finishPart(version, { reason: 'stop' })])
    expect((await partsOf(fromAISDK(model))).at(-1)).toEqual({ type: 'finish', reason: 'tool_calls', rawReason: 'stop' })
  })

  test.for([
    [
      { input: 10, cached: 4, output: 7, reasoning: 3 },
      { inputTokens: 10, outputTokens: 7, cachedInputTokens: 4, reasoningTokens: 3 },
    ],
    [{ input: 10 }, { inputTokens: 10, outputTokens: 0 }],
    [
      { input: 10, cached: 400, output: 2, reasoning: 5 },
      { inputTokens: 410, outputTokens: 7, cachedInputTokens: 400, reasoningTokens: 5 },
    ],
    [
      { input: Number.NaN, output: 2 },
      { inputTokens: 0, outputTokens: 2 },
    ],
    [{}, undefined],
  ] as const)('whose usage is %j', async ([counts, usage]) => {
    const { model } = standIn(version, [finishPart(version, { ...stop, ...counts })])
    expect((await partsOf(fromAISDK(model))).find((part) => part.type === 'usage')?.usage).toEqual(usage)
  })

  test('passes on what it has no part for', async () => {
    const others = [
      { type: 'stream-start', warnings: [{ type: 'other', message: 'odd' }] },
      { type: 'response-metadata', id: 'r' },
      { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com' },
      { type: 'file', mediaType: 'image/png', data: 'AA==' },
      { type: 'raw', rawValue: { a: 1 } },
      { type: 'of-tomorrow' },
      {},
    ]
    const { model } = standIn(version, [...others, { type: 'ping' }, finishPart(version, stop)])
    expect((await partsOf(fromAISDK(model))).slice(0, -1)).toEqual(others.map((value) => ({ type: 'raw', value })))
  })

  test('of odd values breaks nothing', async () => {
    const odd = [
      null,
      3,
      'x',
      [],
      { type: 'text-delta' },
      { type: 'text-start', id: 4, providerMetadata: 'no' },
      { type: 'tool-input-delta', id: 'a', delta: 'x' },
    ]
    const finish = { ...finishPart(version, stop), usage: 'none', providerMetadata: { acme: { grounded: true } } }
    const { model } = standIn(version, [...odd, finish])
    expect((await partsOf(fromAISDK(model))).filter(({ type }) => type !== 'raw')).toEqual([
      { type: 'finish', reason: 'stop', rawReason: 'stop' },
    ])
  })
})

test("counts of kinds stand in for a total, and Google's reasoning beside the output is found by it", async () => {
  const usage = { inputTokens: { noCache: 3, cacheRead: 2, cacheWrite: 1 }, outputTokens: { text: 4, reasoning: 5 } }
  const nested = standIn('v3', [{ type: 'finish', finishReason: { unified: 'stop' }, usage }])
  expect((await partsOf(fromAISDK(nested.model)))[0]).toEqual({
    type: 'usage',
    usage: { inputTokens: 6, outputTokens: 9, cachedInputTokens: 2, cacheWriteTokens: 1, reasoningTokens: 5 },
  })
  const beside = { inputTokens: 10, outputTokens: 20, reasoningTokens: 5, totalTokens: 35 }
  const flat = standIn('v2', [{ type: 'finish', finishReason: 'stop', usage: beside }])
  expect((await partsOf(fromAISDK(flat.model)))[0]).toMatchObject({ usage: { outputTokens: 25 } })
})
