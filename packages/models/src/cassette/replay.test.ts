import { ConfigError, ModelError } from '@koagent/core'
import type { ModelPart } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { describe, expect, test } from 'vitest'
import { hello, partsOf } from '../testing/wire.ts'
import { memoryCassette, record, replay } from './cassette.ts'
import type { CassetteStore } from './cassette.ts'
import { asking, giving, named, say, thrownBy } from './testing/tape.ts'

async function recordedBy(...texts: readonly string[]): Promise<CassetteStore> {
  const store = memoryCassette()
  const model = record(scripted(texts.map((text) => ({ text }))), store)
  for (const _ of texts) await say(model, 'a')
  return store
}

function factsOf(thrown: unknown): object {
  const { name, message } = thrown as Error
  return { ...(thrown as object), name, message }
}

test('the same request gets its answers in order, then the last one again; each replay begins anew', async () => {
  const store = await recordedBy('1', '2')
  for (let round = 0; round < 2; round++) {
    const model = replay(store)
    expect([await say(model, 'a'), await say(model, 'a'), await say(model, 'a')]).toEqual(['1', '2', '2'])
  }
})

test('parallel calls do not mix', async () => {
  const store = memoryCassette()
  const words = Array.from({ length: 8 }, (_, n) => `the words of answer ${n}`)
  const model = record(scripted(words.map((text) => ({ text }))), store)
  await Promise.all(words.map((_, n) => say(model, `${n}`)))
  const replayed = replay(store)
  expect(await Promise.all(words.map((_, n) => say(replayed, `${n}`)))).toEqual(words)
})

test('parts are frozen', async () => {
  const store = memoryCassette()
  const args = { list: [{ a: 1 }] }
  const parts: readonly ModelPart[] = [
    { type: 'tool_call', callId: 'c1', toolName: 't', args },
    { type: 'finish', reason: 'tool_calls' },
  ]
  await partsOf(record(giving(parts), store))
  const [call] = await partsOf(replay(store))
  expect(() => Object.assign(call ?? {}, { type: 'x' })).toThrow(TypeError)
  expect(call?.type === 'tool_call' && typeof call.args === 'object' && Object.isFrozen(call.args['list'])).toBe(true)
})

describe('a failure', () => {
  test.for([
    new ModelError('slow down', {
      code: 'rate_limit',
      status: 429,
      retryable: true,
      retryAfterMs: 0,
      provider: 'upstream',
      requestId: 'r1',
    }),
    new ModelError('bad', { retryable: false }),
    Object.assign(new TypeError('reset'), { code: 'ECONNRESET' }),
    new RangeError('too much'),
  ])('is thrown as it was, after its parts: %o', async (error) => {
    const store = memoryCassette()
    const parts: readonly ModelPart[] = [{ type: 'text_delta', text: 'so far' }]
    const model = named('acme', 'm1', [{ parts, error }])
    expect(await thrownBy(partsOf(record(model, store)))).toBe(error)
    const got: ModelPart[] = []
    const doing = (async () => {
      for await (const part of replay(store).stream(hello, { signal: new AbortController().signal })) got.push(part)
    })()
    const thrown = await thrownBy(doing)
    expect(got).toEqual(parts)
    expect(thrown instanceof ModelError).toBe(error instanceof ModelError)
    expect(factsOf(thrown)).toEqual(factsOf(error))
  })

  test('and the success after it come in order', async () => {
    const store = memoryCassette()
    const model = record(scripted([{ error: new ModelError('busy', { retryable: true }) }, { text: 'ok' }]), store)
    await thrownBy(say(model, 'a'))
    await say(model, 'a')
    const replayed = replay(store)
    expect(await thrownBy(say(replayed, 'a'))).toMatchObject({ message: 'busy', retryable: true })
    expect(await say(replayed, 'a')).toBe('ok')
  })
})

describe('an abort throws its reason', () => {
  test('before the first part, and takes no answer', async () => {
    const model = replay(await recordedBy('1', '2'))
    expect(await thrownBy(partsOf(model, asking('a'), AbortSignal.abort('enough')))).toBe('enough')
    expect(await say(model, 'a')).toBe('1')
  })

  test.for([0, 1, 2])('after part %d', async (last) => {
    const store = await recordedBy('one two')
    const controller = new AbortController()
    let seen = 0
    const doing = (async () => {
      for await (const _ of replay(store).stream(asking('a'), { signal: controller.signal })) {
        if (seen++ === last) controller.abort('enough')
      }
    })()
    expect(await thrownBy(doing)).toBe('enough')
    expect(seen).toBe(last + 1)
  })
})

describe('of several models', () => {
  async function both(): Promise<CassetteStore> {
    const store = memoryCassette()
    await say(record(named('acme', 'big', [{ text: '1' }]), store), 'a')
    await say(record(named('bcme', 'small', [{ text: '2' }]), store), 'a')
    return store
  }

  test('one is chosen by its name', async () => {
    const model = replay(await both(), { model: 'bcme/small' })
    expect(model).toMatchObject({ provider: 'bcme', id: 'small' })
    expect(await say(model, 'a')).toBe('2')
  })

  test('one must be chosen', async () => {
    const store = await both()
    expect(() => replay(store)).toThrow(
      new ConfigError(
        "cassette 'the cassette in memory' holds several models ('acme/big', 'bcme/small'): say which, as in replay(cassette, { model: 'acme/big' })",
      ),
    )
    expect(() => replay(store, { model: 'small' })).toThrow(
      new ConfigError(
        "cassette 'the cassette in memory' holds nothing of model 'small', only of 'acme/big', 'bcme/small': choose one, or record again",
      ),
    )
  })
})
