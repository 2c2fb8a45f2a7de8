import { ModelError } from '@koagent/core'
import type { Model, ModelPart } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { describe, expect, test, vi } from 'vitest'
import { hello, partsOf } from '../testing/wire.ts'
import { memoryCassette, record, replay } from './cassette.ts'
import { asking, giving, named, say, thrownBy, written } from './testing/tape.ts'

const { signal } = new AbortController()
const finish: ModelPart = { type: 'finish', reason: 'stop' }

test('a recorded model is the model: its name, its parts, one at a time', async () => {
  const parts: readonly ModelPart[] = [{ type: 'text_delta', text: 'a' }, { type: 'raw', value: 1n }, finish]
  let given = 0
  const model: Model = {
    provider: 'acme',
    id: 'm1',
    async *stream(request, options) {
      expect([request, options]).toEqual([hello, { signal }])
      for (const part of parts) {
        given++
        yield part
      }
    },
  }
  const store = memoryCassette()
  const recorded = record(model, store)
  expect(recorded).toMatchObject({ provider: 'acme', id: 'm1' })
  let taken = 0
  for await (const part of recorded.stream(hello, { signal })) {
    expect(part).toBe(parts[taken++])
    expect(given).toBe(taken)
  }
  // Raw parts that are no JSON are nobody's loss.
  expect(await partsOf(replay(store))).toEqual([parts[0], finish])
})

test('an entry tells a person what was asked and answered', async () => {
  const store = memoryCassette()
  await say(record(giving([{ type: 'text_delta', text: 'yes' }, finish]), store), 'is it?')
  expect(store.lines().map((line) => JSON.parse(line) as unknown)).toEqual([
    { cassette: 1 },
    {
      key: expect.stringMatching(/^[0-9a-f]{64}$/),
      provider: 'acme',
      model: 'm1',
      request: asking('is it?'),
      parts: [{ type: 'text_delta', text: 'yes' }, finish],
    },
  ])
})

test('the request is kept as it was when it was asked', async () => {
  const store = memoryCassette()
  const messages = [...hello.messages]
  const parts = record(giving([finish]), store).stream({ messages, tools: [] }, { signal })
  for await (const _ of parts) messages.push(...hello.messages)
  expect(await partsOf(replay(store))).toEqual([finish])
})

test('an answer whose reader leaves with the finish is recorded', async () => {
  const store = memoryCassette()
  for await (const part of record(giving([finish]), store).stream(hello, { signal })) if (part.type === 'finish') break
  expect(await partsOf(replay(store))).toEqual([finish])
})

describe('nothing is recorded', () => {
  test('of an answer that nobody read to its end, and the model hears of it', async () => {
    const store = memoryCassette()
    const closed = vi.fn<() => void>()
    const model: Model = {
      ...giving([]),
      async *stream() {
        try {
          yield { type: 'text_delta', text: 'a' }
          yield finish
        } finally {
          closed()
        }
      },
    }
    for await (const _ of record(model, store).stream(hello, { signal })) break
    expect(closed).toHaveBeenCalledOnce()
    expect(store.lines()).toEqual([])
  })

  test.for([
    ['obeys', [{ delayMs: 60_000 }]],
    ['goes on', [{ parts: [{ type: 'text_delta', text: 'a' } as const, finish] }]],
  ] as const)('of a call that was aborted, whether the model %s', async ([, steps]) => {
    const store = memoryCassette()
    const controller = new AbortController()
    const doing = partsOf(record(scripted(steps), store), hello, controller.signal)
    controller.abort(new Error('enough'))
    await thrownBy(doing)
    expect(store.lines()).toEqual([])
  })

  test('of a throw that is no error', async () => {
    const store = memoryCassette()
    expect(await thrownBy(partsOf(record(named('acme', 'm1', [{ error: 'oops' }]), store)))).toBe('oops')
    expect(store.lines()).toEqual([])
  })
})

describe('recording again', () => {
  test('replaces what was there, at the first answer and not before', async () => {
    const tape = memoryCassette()
    await say(record(scripted([{ text: 'old' }]), tape), 'a')
    // The same lines in another store: as in another process.
    const store = { ...tape }
    const again = record(scripted([{ text: 'new' }, { text: 'newer' }]), store)
    expect(await say(replay(store), 'a')).toBe('old')
    await say(again, 'b')
    await say(again, 'c')
    expect(store.lines()).toHaveLength(3)
    expect(await say(replay(store), 'c')).toBe('newer')
    expect(await thrownBy(say(replay(store), 'a'))).toMatchObject({ code: 'cassette_miss' })
  })

  test('several models share a store', async () => {
    const store = memoryCassette()
    const main = record(named('acme', 'big', [{ text: '1' }]), store)
    const spare = record(named('acme', 'small', [{ text: '2' }]), store)
    await Promise.all([say(main, 'a'), say(spare, 'a')])
    expect(await say(replay(store, { model: 'acme/big' }), 'a')).toBe('1')
    expect(await say(replay(store, { model: 'acme/small' }), 'a')).toBe('2')
  })
})

describe('a store', () => {
  test('is never asked to write two lines at a time, and begins once', async () => {
    const log: string[] = []
    const slow = (what: string) => async (line: string) => {
      log.push(`>${what}`)
      await new Promise((resolve) => setTimeout(resolve, 1))
      log.push(`<${what} ${line.length > 14}`)
    }
    const store = { name: 'slow', lines: () => [], begin: slow('begin'), append: slow('append') }
    await Promise.all([1, 2].map((n) => say(record(giving([finish]), store), `${n}`)))
    expect(log).toEqual(['>begin', '<begin false', '>append', '<append true', '>append', '<append true'])
  })

  test('that fails is a failure of the call, after all parts, that names it; the next call is written all the same', async () => {
    const store = memoryCassette()
    const begin = store.begin.bind(store)
    store.begin = () => Promise.reject(new Error('disk full'))
    const model = record(giving([finish]), store)
    const parts: ModelPart[] = []
    const doing = (async () => {
      for await (const part of model.stream(hello, { signal })) parts.push(part)
    })()
    expect(await thrownBy(doing)).toEqual(
      new ModelError("the answer of model 'acme/m1' could not be recorded in cassette 'the cassette in memory': disk full", {
        code: 'cassette_write',
        retryable: false,
        provider: 'acme',
        cause: new Error('disk full'),
      }),
    )
    expect(parts).toEqual([finish])
    store.begin = begin
    await partsOf(model)
    expect(await partsOf(replay(store))).toEqual([finish])
  })
})

test('what is private or changes can be evened out, on both sides', async () => {
  const clean = (text: string): string => text.replaceAll(/\d{4}-\d\d-\d\d/g, '<date>').replaceAll('Ada', '<name>')
  const store = memoryCassette()
  const model = scripted([{ text: 'Hello Ada' }, { error: new ModelError('no Ada', { retryable: false }) }])
  const recorded = record(model, store, { clean })
  await say(recorded, 'Ada, 2025-01-01')
  await thrownBy(say(recorded, 'again'))
  expect(written(store)).not.toMatch(/Ada|2025/)
  const replayed = replay(store, { clean })
  expect(await say(replayed, 'Ada, 2026-12-31')).toBe('Hello <name>')
  expect(await thrownBy(say(replayed, 'again'))).toMatchObject({ message: 'no <name>' })
})
