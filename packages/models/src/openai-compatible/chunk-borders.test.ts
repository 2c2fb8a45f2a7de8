import type { ModelPart } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { openaiCompatible } from './openai-compatible.ts'

const deltas: readonly object[] = [
  { content: 'Grüße ' },
  { content: '東京 😀' },
  { tool_calls: [{ index: 0, id: 'a', function: { name: 'add', arguments: '{"n' } }] },
  { tool_calls: [{ index: 1, id: 'b', function: { name: 'mul', arguments: '{"ü' } }] },
  { tool_calls: [{ index: 0, function: { arguments: '":1}' } }] },
  { tool_calls: [{ index: 1, function: { arguments: '":"€"}' } }] },
]
const payloads = [
  ...deltas.map((delta) => JSON.stringify({ choices: [{ delta }] })),
  '{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}',
  '{"usage":{"prompt_tokens":3,"completion_tokens":5}}',
  '[DONE]',
]

const expected: readonly ModelPart[] = [
  { type: 'text_delta', text: 'Grüße ' },
  { type: 'text_delta', text: '東京 😀' },
  { type: 'tool_call_delta', callId: 'a', toolName: 'add', delta: '{"n' },
  { type: 'tool_call_delta', callId: 'b', toolName: 'mul', delta: '{"ü' },
  { type: 'tool_call_delta', callId: 'a', toolName: 'add', delta: '":1}' },
  { type: 'tool_call_delta', callId: 'b', toolName: 'mul', delta: '":"€"}' },
  { type: 'tool_call', callId: 'a', toolName: 'add', args: '{"n":1}' },
  { type: 'tool_call', callId: 'b', toolName: 'mul', args: '{"ü":"€"}' },
  { type: 'usage', usage: { inputTokens: 3, outputTokens: 5 } },
  { type: 'finish', reason: 'tool_calls', rawReason: 'tool_calls' },
]

let body: ReadableStream<Uint8Array>
const model = openaiCompatible({
  baseURL: 'http://model.test/v1',
  model: 'm1',
  fetch: () => Promise.resolve(new Response(body, { headers: { 'content-type': 'text/event-stream' } })),
})

/** The parts of a response whose body arrives in exactly these pieces. */
function partsOf(pieces: Iterable<Uint8Array>, close = true): AsyncIterator<ModelPart> {
  body = new ReadableStream({
    start(controller) {
      for (const piece of pieces) controller.enqueue(piece)
      if (close) controller.close()
    },
  })
  return model.stream({ messages: [], tools: [] }, { signal: new AbortController().signal })[Symbol.asyncIterator]()
}

async function all(pieces: Iterable<Uint8Array>): Promise<ModelPart[]> {
  const parts = []
  const iterator = partsOf(pieces)
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) parts.push(next.value)
  return parts
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const LF = '\n'
const CR = '\r'
const CRLF = '\r\n'
/** All delimiters but CR LF, which is one line end. */
const delimiters = [LF + LF, CR + CR, CRLF + CRLF, LF + CR, LF + CRLF, CR + CRLF, CRLF + LF, CRLF + CR]

describe('a stream gives the same parts wherever it is cut', () => {
  test.for([
    ['LF', payloads.map((data) => `data: ${data}${LF}${LF}`)],
    ['CR LF', payloads.map((data) => `data: ${data}${CRLF}${CRLF}`)],
    ['CR', payloads.map((data) => `data: ${data}${CR}${CR}`)],
    ['every delimiter in turn', payloads.map((data, index) => `data: ${data}${delimiters[index % delimiters.length]}`)],
    ['a byte order mark and keep-alives', ['\uFEFF', ...payloads.map((data) => `: PING${LF}${LF}data: ${data}${LF}:${LF}${LF}`)]],
  ] as const)('with %s', { timeout: 30_000 }, async ([, events]) => {
    const stream = bytes(events.join(''))
    expect(await all([stream])).toEqual(expected)
    expect(await all(Array.from(stream, (byte) => Uint8Array.of(byte)))).toEqual(expected)
    for (let at = 1; at < stream.length; at++) {
      expect(await all([stream.subarray(0, at), stream.subarray(at)]), `cut at byte ${at}`).toEqual(expected)
    }
  })
})

test.for(delimiters.map((delimiter) => [delimiter]))(
  'an event that ends in %j is delivered while the connection stays open',
  async ([delimiter]) => {
    const parts = partsOf([bytes(`data: ${payloads[0]}${delimiter}`)], false)
    expect(await parts.next()).toEqual({ done: false, value: expected[0] })
    await parts.return?.()
  },
)
