import type { Model, ModelPart, ModelRequest } from '@koagent/core'
import { expect } from 'vitest'

/** What was sent to a stand-in for `fetch`. */
export interface Sent {
  readonly url: string
  readonly headers: Headers
  readonly body: Record<string, unknown>
}

export interface Wire {
  readonly fetch: typeof globalThis.fetch
  /** Oldest first. */
  readonly sent: readonly Sent[]
  /** What the next requests are answered with. */
  answer: () => Response
}

/** A stand-in for `fetch` that keeps what it is sent. */
export function wire(answer: () => Response): Wire {
  const sent: Sent[] = []
  const line: Wire = {
    sent,
    answer,
    async fetch(input, init) {
      const request = new Request(input, init)
      sent.push({ url: request.url, headers: request.headers, body: (await request.json()) as Record<string, unknown> })
      return line.answer()
    },
  }
  return line
}

/** A response whose body arrives in exactly these pieces. */
export function streamed(pieces: Iterable<Uint8Array | string>): Response {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces) controller.enqueue(typeof piece === 'string' ? bytes(piece) : piece)
      controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream', 'x-request-id': 'r1' } })
}

/** Payloads as server-sent events, named after their `type` where they have one. */
export function events(payloads: readonly object[]): string {
  return payloads
    .map((payload) => `${'type' in payload ? `event: ${String(payload.type)}\n` : ''}data: ${JSON.stringify(payload)}\n\n`)
    .join('')
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

export const hello: ModelRequest = { messages: [{ role: 'user', content: [{ type: 'text', text: 'hi' }] }], tools: [] }

/** All parts of one answer. */
export async function partsOf(model: Model, request: ModelRequest = hello, signal?: AbortSignal): Promise<ModelPart[]> {
  const parts: ModelPart[] = []
  for await (const part of model.stream(request, { signal: signal ?? new AbortController().signal })) parts.push(part)
  return parts
}

/** Expects the same parts however the stream is cut: whole, byte by byte, and in two at every place. */
export async function expectSameAtEveryBorder(
  modelOn: (fetch: typeof globalThis.fetch) => Model,
  stream: string,
  expected: readonly ModelPart[],
): Promise<void> {
  const all = bytes(stream)
  const cuts = Array.from({ length: all.length }, (_, at) => [all.subarray(0, at), all.subarray(at)])
  for (const pieces of [Array.from(all, (byte) => Uint8Array.of(byte)), ...cuts]) {
    const parts = await partsOf(modelOn(wire(() => streamed(pieces)).fetch))
    expect(parts, `cut at byte ${pieces[0]?.length}`).toEqual(expected)
  }
}
