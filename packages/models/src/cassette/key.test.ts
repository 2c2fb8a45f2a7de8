import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { keyOf } from './key.ts'

const request = { tools: [], messages: [{ role: 'user', content: [] }], settings: { topP: undefined, temperature: 0 } }

test('a key is the hash of the canonical JSON', async () => {
  const json =
    '{"model":"m1","provider":"acme","request":{"messages":[{"content":[],"role":"user"}],"settings":{"temperature":0},"tools":[]}}'
  expect(await keyOf('acme', 'm1', request)).toBe(createHash('sha256').update(json).digest('hex'))
})

test('a key tells models apart, and lists by their order', async () => {
  const keys = await Promise.all([
    keyOf('acme', 'm1', { a: [1, 2] }),
    keyOf('acme', 'm2', { a: [1, 2] }),
    keyOf('bcme', 'm1', { a: [1, 2] }),
    keyOf('acme', 'm1', { a: [2, 1] }),
    keyOf('acme', 'm1', { a: [[1], 2] }),
    keyOf('acme', 'm1', { a: '[1,2]' }),
    keyOf('acme', 'm1', {}),
  ])
  expect(new Set(keys).size).toBe(keys.length)
})

test('the order of fields and absent ones do not count', async () => {
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value: unknown) => {
      expect(await keyOf('acme', 'm1', shuffled(value))).toBe(await keyOf('acme', 'm1', value))
    }),
  )
})

function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== 'object' || value === null) return value
  const turned = Object.entries(value).toReversed()
  return Object.fromEntries(
    [['gone', undefined], ...turned.filter(([name]) => name !== 'gone')].map(([k, v]) => [k, shuffled(v)]),
  )
}
