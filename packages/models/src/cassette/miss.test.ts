import type { ModelRequest } from '@koagent/core'
import { expect, test } from 'vitest'
import { partsOf } from '../testing/wire.ts'
import { memoryCassette, record, replay } from './cassette.ts'
import { asking, giving, thrownBy } from './testing/tape.ts'

async function missOf(recorded: readonly ModelRequest[], asked: ModelRequest): Promise<unknown> {
  const store = memoryCassette()
  for (const request of recorded) await partsOf(record(giving([{ type: 'finish', reason: 'stop' }]), store), request)
  return thrownBy(partsOf(replay(store), asked))
}

const rules = 'You help people who ask about the weather, in short sentences and without jokes. '

test('a miss shows how it differs from the nearest request, and what to do', async () => {
  const near: ModelRequest = { ...asking('How warm is it?'), system: `${rules}Today is 2025-01-01. ${rules}` }
  const asked: ModelRequest = {
    ...near,
    system: `${rules}Today is 2026-02-02. ${rules}`,
    messages: [...near.messages, { role: 'user', content: [{ type: 'text', text: 'in Rome, in Oslo, in Bern and in Bonn' }] }],
    settings: { temperature: 0, extra: { 'a b': 1 } },
  }
  const error = await missOf([asking('something else'), near, asking('more')], asked)
  expect(error).toMatchObject({ name: 'ModelError', code: 'cassette_miss', retryable: false, provider: 'acme' })
  expect((error as Error).message).toMatchInlineSnapshot(`
    "model 'acme/m1' was asked what is not recorded in cassette 'the cassette in memory'. The nearest recorded request, in line 3, differs:
      messages[1]: recorded nothing, asked {"role":"user","content":[{"type":"text","text":"in Rome, in…
      system: recorded …" jokes. Today is 2025-01-01. You help people who ask about t"…, asked …" jokes. Today is 2026-02-02. You help people who ask about t"…
      settings: recorded nothing, asked {"temperature":0,"extra":{"a b":1}}
    Record it again if this change is meant. For what changes with every run, such as a date, give the same \`clean\` to record and replay."
  `)
})

test('a miss shows five places at most, and how many more there are', async () => {
  const extra = (n: number) => Object.fromEntries(Array.from({ length: 7 }, (_, at) => [`a ${at}`, n]))
  const ask = (n: number): ModelRequest => ({ ...asking('hi'), settings: { extra: extra(n) } })
  expect(((await missOf([ask(1)], ask(2))) as Error).message).toMatchInlineSnapshot(`
    "model 'acme/m1' was asked what is not recorded in cassette 'the cassette in memory'. The nearest recorded request, in line 2, differs:
      settings.extra["a 0"]: recorded 1, asked 2
      settings.extra["a 1"]: recorded 1, asked 2
      settings.extra["a 2"]: recorded 1, asked 2
      settings.extra["a 3"]: recorded 1, asked 2
      settings.extra["a 4"]: recorded 1, asked 2
      and in 2 more places
    Record it again if this change is meant. For what changes with every run, such as a date, give the same \`clean\` to record and replay."
  `)
})

test('a miss shows no secrets', async () => {
  const error = await missOf([asking('hi')], asking(`hi, sk-${'a1'.repeat(20)}`))
  expect((error as Error).message).toContain('asked "hi, [scrubbed]"')
})
