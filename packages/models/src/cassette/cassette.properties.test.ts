import type { ModelPart, ModelRequest } from '@koagent/core'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { partsOf } from '../testing/wire.ts'
import { memoryCassette, record, replay } from './cassette.ts'
import { secrets } from './clean/testing/secrets.ts'
import { asking, giving, named, thrownBy, written } from './testing/tape.ts'

// A round through JSON: there is no -0.
const json = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)) as never)
const jsonObject = fc.dictionary(fc.string(), json)
const text = fc.string({ unit: 'binary' })
const id = fc.constantFrom('', 'a', 'b')

const anyPart: fc.Arbitrary<unknown> = fc.oneof(
  fc.record({ type: fc.constant('text_delta'), text }),
  fc.record({ type: fc.constant('text_end'), providerData: json }, { requiredKeys: ['type'] }),
  fc.record({ type: fc.constant('reasoning_delta'), text, blockId: id }),
  fc.record({ type: fc.constant('reasoning_end'), blockId: id, providerData: json }, { requiredKeys: ['type'] }),
  fc.record({ type: fc.constant('tool_call_delta'), callId: id, toolName: id, delta: text }),
  fc.record({ type: fc.constant('tool_call'), callId: id, toolName: id, args: fc.oneof(text, jsonObject), providerData: json }),
  fc.record({ type: fc.constant('usage'), usage: fc.record({ inputTokens: fc.nat(), outputTokens: fc.nat() }) }),
  fc.record({ type: fc.constant('raw'), value: json }),
  fc.record(
    { type: fc.constant('finish'), reason: fc.constant('stop'), rawReason: text, providerData: json },
    { requiredKeys: ['type'] },
  ),
  fc.record({ type: fc.constant('new_kind'), of: jsonObject }),
)

test('what was recorded is replayed, whatever the parts', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(anyPart, { maxLength: 12 }), jsonObject, async (parts, extra) => {
      const store = memoryCassette()
      const request: ModelRequest = { ...asking('hi'), settings: { extra } }
      await partsOf(record(giving(parts as ModelPart[]), store), request)
      expect(await partsOf(replay(store), request)).toEqual(parts)
    }),
    { numRuns: 500 },
  )
})

/** A text with a secret in it, cut into pieces, and the secret. */
const planted = fc
  .record({
    secret: fc.constantFrom(...secrets),
    before: fc.constantFrom('', 'It is ', '"', '\n', '(', 'key=', '{"a":"', '{"a":"\\n'),
    after: fc.constantFrom('', '.', '"', '\n', ')', ' and so on', '"}'),
    cuts: fc.array(fc.nat(200), { maxLength: 6 }),
  })
  .map(({ secret, before, after, cuts }) => {
    const whole = before + secret + after
    const at = [0, ...cuts.map((cut) => cut % whole.length).toSorted((a, b) => a - b), whole.length]
    return { secret, whole, pieces: at.slice(1).map((end, index) => whole.slice(at[index], end)) }
  })

const places: Record<string, (whole: string, pieces: readonly string[]) => { parts?: unknown[]; error?: Error; asked?: object }> =
  {
    text: (_, pieces) => ({ parts: pieces.map((piece) => ({ type: 'text_delta', text: piece })) }),
    reasoning: (_, pieces) => ({ parts: pieces.map((piece) => ({ type: 'reasoning_delta', text: piece, blockId: 'b' })) }),
    'arguments as they come': (_, pieces) => ({
      parts: pieces.map((piece) => ({ type: 'tool_call_delta', callId: 'c', toolName: 't', delta: piece })),
    }),
    'arguments in JSON': (whole) => {
      const args = JSON.stringify({ deep: [{ q: whole }] })
      const deltas = args.match(/[^]{1,7}/g) ?? []
      return {
        parts: [
          ...deltas.map((delta) => ({ type: 'tool_call_delta', callId: 'c', toolName: 't', delta })),
          { type: 'tool_call', callId: 'c', toolName: 't', args },
        ],
      }
    },
    'mixed with other parts': (whole, pieces) => ({
      parts: pieces.flatMap((piece) => [
        { type: 'raw', value: { piece } },
        { type: 'text_delta', text: piece },
        { type: 'tool_call_delta', callId: 'c', toolName: 't', delta: piece },
        { type: 'usage', usage: { inputTokens: 1, outputTokens: 1, note: whole } },
        { type: 'new_kind', data: whole, of: { whole } },
      ]),
    }),
    error: (whole) => ({ error: new Error(whole) }),
    system: (whole) => ({ asked: { system: whole } }),
    message: (whole) => ({ asked: asking(whole) }),
    settings: (whole) => ({ asked: { settings: { stop: [whole], extra: { a: { b: [whole] } } } } }),
    tools: (whole) => ({ asked: { tools: [{ name: 't', description: whole, inputSchema: { description: whole } }] } }),
  }

test.for(Object.entries(places))('no secret is written: in %s', async ([, plant]) => {
  await fc.assert(
    fc.asyncProperty(planted, async ({ secret, whole, pieces }) => {
      const { parts = [], error, asked } = plant(whole, pieces)
      const store = memoryCassette()
      const model = record(named('acme', 'm1', [{ parts: parts as ModelPart[], ...(error && { error }) }]), store)
      await thrownBy(partsOf(model, { ...asking('hi'), ...asked }))
      const lines = store.lines().slice(1)
      expect(lines).toHaveLength(1)
      expect(written(store)).toContain('[scrubbed]')
      // Also where only the pieces are there: no part may end and the next begin with what is left of it.
      const strings = (JSON.stringify(JSON.parse(lines[0] ?? '')).match(/"(?:\\.|[^"\\])*"/g) ?? []).map(
        (json) => JSON.parse(json) as string,
      )
      for (const kept of [...strings, strings.join('')]) expect(kept).not.toContain(secret)
    }),
    { numRuns: 200 },
  )
})
