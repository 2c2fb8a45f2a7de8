import type { ModelPart } from '@koagent/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { partsOf } from '../testing/wire.ts'
import { fromAISDK } from './ai-sdk.ts'
import { finishPart, standIn, versions } from './testing/stand-in.ts'

interface Block {
  readonly kind: 'text' | 'reasoning' | 'call'
  readonly pieces: readonly string[]
  readonly signed: boolean
}

const blocks = fc.array(
  fc.record<Block>({
    kind: fc.constantFrom('text', 'reasoning', 'call'),
    pieces: fc.array(fc.string({ minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
    signed: fc.boolean(),
  }),
  { minLength: 1, maxLength: 6 },
)

function partsOfBlock({ kind, pieces, signed }: Block, index: number): object[] {
  const id = `b${index}`
  const metadata = signed && { providerMetadata: { acme: { signature: id } } }
  if (kind === 'call') {
    return [
      { type: 'tool-input-start', id, toolName: 'add' },
      ...pieces.map((delta) => ({ type: 'tool-input-delta', id, delta })),
      { type: 'tool-call', toolCallId: id, toolName: 'add', input: pieces.join(''), ...metadata },
    ]
  }
  return [
    { type: `${kind}-start`, id },
    ...pieces.map((delta) => ({ type: `${kind}-delta`, id, delta })),
    { type: `${kind}-end`, id, ...metadata },
  ]
}

/** The streams of the blocks in one, each in its own order. */
function interleaved(streams: readonly object[][], turns: readonly number[]): object[] {
  const left = streams.map((stream) => [...stream])
  const all: object[] = []
  for (let turn = 0; left.some((stream) => stream.length > 0); turn++) {
    const open = left.filter((stream) => stream.length > 0)
    all.push(...(open[(turns[turn % turns.length] ?? 0) % open.length]?.splice(0, 1) ?? []))
  }
  return all
}

/** The order in which blocks have their place: by their start, a call by its end. */
function placed(stream: readonly object[]): number[] {
  return stream
    .map((part) => ('type' in part ? part : { type: '' }) as { type: string; id?: string; toolCallId?: string })
    .filter(({ type }) => type === 'text-start' || type === 'reasoning-start' || type === 'tool-call')
    .map(({ id, toolCallId }) => Number((id ?? toolCallId)?.slice(1)))
}

/** What the parts come to, block by block. */
function contentOf(parts: readonly ModelPart[]): unknown[] {
  const content: { kind: string; text: string; data?: unknown; ended?: boolean }[] = []
  const open = (kind: string) => {
    const last = content.at(-1)
    if (last && last.kind === kind && !last.ended) return last
    const next = { kind, text: '' }
    content.push(next)
    return next
  }
  for (const part of parts) {
    if (part.type === 'text_delta') open('text').text += part.text
    if (part.type === 'reasoning_delta') open('reasoning').text += part.text
    if (part.type === 'text_end') Object.assign(open('text'), { data: part.providerData, ended: true })
    if (part.type === 'reasoning_end') Object.assign(open('reasoning'), { data: part.providerData, ended: true })
    if (part.type === 'tool_call') content.push({ kind: 'call', text: String(part.args), data: part.providerData, ended: true })
  }
  return content.map(({ kind, text, data }) => ({ kind, text, data }))
}

test('blocks side by side come out one after the other, in order and whole', async () => {
  const turns = fc.array(fc.nat(20), { minLength: 1, maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(blocks, turns, fc.constantFrom(...versions), async (wanted, order, version) => {
      const stream = interleaved(wanted.map(partsOfBlock), order)
      const { model } = standIn(version, [...stream, finishPart(version, { reason: 'stop', raw: 'stop' })])
      const parts = await partsOf(fromAISDK(model))
      const expected = placed(stream).map((index) => {
        const { kind, pieces, signed } = wanted[index] as Block
        return { kind, text: pieces.join(''), data: signed ? { acme: { signature: `b${index}` } } : undefined }
      })
      expect(contentOf(parts)).toEqual(expected)
      for (const [index, { kind, pieces }] of wanted.entries()) {
        const deltas = parts.flatMap((part) =>
          part.type === 'tool_call_delta' && part.callId === `b${index}` ? [part.delta] : [],
        )
        expect(deltas).toEqual(kind === 'call' ? pieces : [])
      }
    }),
    { numRuns: 300 },
  )
})
