import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { Agent, ConfigError, RunController, memorySession, retry } from '@koagent/core'
import type { AgentEvent, Model, ModelPart } from '@koagent/core'
import { bufferSize } from '../event/queue.ts'
import { scripted } from '../scripted.ts'
import { busy } from '../testing/ask.ts'
import { expectWhole } from '../testing/kit.ts'
import { silent, stage } from '../testing/stage.ts'

/** A model that says so many words, and counts how far it was pulled. */
function talker(words: number): Model & { pulled: number } {
  const model = {
    provider: 'p',
    id: 'talker',
    pulled: 0,
    async *stream(): AsyncGenerator<ModelPart> {
      for (let i = 0; i < words; i++) {
        model.pulled++
        yield { type: 'text_delta', text: `${i} ` }
      }
      yield { type: 'finish', reason: 'stop' }
    },
  }
  return model
}

async function all(run: AsyncIterable<AgentEvent>): Promise<AgentEvent[]> {
  const events: AgentEvent[] = []
  for await (const event of run) events.push(event)
  return events
}

async function settle(): Promise<void> {
  for (let i = 0; i < 50; i++) await setImmediate()
}

describe('a slow consumer', () => {
  test('holds the loop: the model is not pulled more than a buffer ahead', async () => {
    const model = talker(1_000)
    const iterator = new Agent({ model }).stream('go')[Symbol.asyncIterator]()
    let read = 0
    for (; read < 5; read++) await iterator.next()
    await settle()
    expect(model.pulled).toBeLessThanOrEqual(bufferSize + read)
    for (; read < 100; read++) await iterator.next()
    await settle()
    expect(model.pulled).toBeGreaterThan(80)
    expect(model.pulled).toBeLessThanOrEqual(bufferSize + read)
    await iterator.return?.()
    expect(model.pulled).toBeLessThanOrEqual(bufferSize + read)
  })

  test('that stops reading near the end does not hold back the result', async () => {
    for (const words of [10, bufferSize - 4, bufferSize - 3, bufferSize - 2, bufferSize - 1]) {
      const run = new Agent({ model: talker(words) }).stream('go')
      const iterator = run[Symbol.asyncIterator]()
      for (let i = 0; i < 4; i++) await iterator.next()
      const result = await run.result
      expect(result.status).toBe('completed')
    }
  })

  test('gets every event in order', async () => {
    const run = new Agent({ model: talker(500) }).stream('go')
    const seqs: number[] = []
    for await (const { seq } of run) {
      seqs.push(seq)
      if (seq % 50 === 0) await settle()
    }
    expect(seqs).toEqual(seqs.map((_, i) => i))
    expect(seqs.length).toBeGreaterThan(500)
  })
})

describe('a result without an iterator', () => {
  test('lets the run go on', async () => {
    const run = new Agent({ model: talker(1_000) }).stream('go')
    expect((await run.result).status).toBe('completed')
  })

  test('leaves a tail to read later, where all of it was kept', async () => {
    const run = new Agent({ model: scripted([{ text: 'a b' }]) }).stream('go')
    await run.result
    const events = await all(run)
    expectWhole({ events })
    expect(events[0]?.seq).toBe(0)
  })

  test('refuses a late iterator where events were lost, and says how many', async () => {
    const run = new Agent({ model: talker(1_000) }).stream('go')
    await run.result
    expect(() => run[Symbol.asyncIterator]()).toThrow(ConfigError)
    expect(() => run[Symbol.asyncIterator]()).toThrow(/9\d\d events/)
    await expect(run.text().next()).rejects.toBeInstanceOf(ConfigError)
  })

  test('is no unhandled rejection when it fails', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown): unknown => unhandled.push(error)
    process.on('unhandledRejection', note)
    const run = new Agent({ model: scripted([{ error: busy() }]), logger: silent }).stream('go')
    void run.controller
    await settle()
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
    await expect(run.result).rejects.toThrow('busy')
  })
})

describe('the iterator', () => {
  test('is one a run; text() counts', async () => {
    const agent = stage()
    const first = agent.stream('go')
    first[Symbol.asyncIterator]()
    expect(() => first[Symbol.asyncIterator]()).toThrow(ConfigError)
    await expect(first.text().next()).rejects.toBeInstanceOf(ConfigError)
    first.controller.cancel()
    const second = agent.stream('go')
    const text = second.text()
    await text.next()
    expect(() => second[Symbol.asyncIterator]()).toThrow(/one text\(\)/)
    await text.return()
  })

  test('of a failed run ends without throwing', async () => {
    const run = new Agent({ model: scripted([{ error: busy() }]), logger: silent }).stream('go')
    const events = await all(run)
    expectWhole({ events })
    expect(events.slice(-2)).toMatchObject([
      { type: 'error', error: { message: 'busy' } },
      { type: 'run_end', status: 'failed' },
    ])
    await expect(run.result).rejects.toThrow('busy')
  })

  test('may be asked several times at once', async () => {
    const iterator = stage().stream('go')[Symbol.asyncIterator]()
    const reads = await Promise.all([iterator.next(), iterator.next(), iterator.next()])
    expect(reads.map(({ value }) => value?.seq)).toEqual([0, 1, 2])
    await iterator.return?.()
    expect(await iterator.next()).toEqual({ done: true, value: undefined })
  })

  test('that is left returns when the run is over and the session is free', async () => {
    const session = memorySession()
    const run = stage().stream('go', { session })
    // oxlint-disable-next-line no-unreachable-loop
    for await (const _event of run) break
    expect(await stage().run('again', { session })).toMatchObject({ status: 'completed' })
    await expect(run.result).rejects.toMatchObject({ name: 'AbortError' })
  })
})

describe('text()', () => {
  const pieces = async (text: AsyncIterable<string>, got: string[] = []): Promise<string[]> => {
    for await (const piece of text) got.push(piece)
    return got
  }

  test('is the answer, piece by piece', async () => {
    expect(await pieces(new Agent({ model: scripted([{ reasoning: 'hm', text: 'it is 3' }]) }).stream('go').text())).toEqual([
      'it ',
      'is ',
      '3',
    ])
  })

  test('rejects with what the run fails with, after what was said', async () => {
    const got: string[] = []
    const error = busy()
    const run = new Agent({ model: scripted([{ text: 'so far', error }]), logger: silent }).stream('go')
    await expect(pieces(run.text(), got)).rejects.toBe(error)
    expect(got).toEqual(['so ', 'far'])
  })

  test('rejects when the run is cancelled', async () => {
    const controller = new RunController()
    const run = new Agent({ model: talker(10_000) }).stream('go', { controller })
    const reading = async (): Promise<void> => {
      for await (const piece of run.text()) if (piece === '10 ') controller.cancel('enough')
    }
    await expect(reading()).rejects.toMatchObject({ name: 'AbortError' })
  })

  test('ends with an error where a retry takes back what was given out, and ends the run', async () => {
    const run = new Agent({
      model: scripted([{ text: 'void', error: busy() }, { text: 'good' }]),
      middleware: [{ name: 'again', on_error: () => retry() }],
    }).stream('go')
    const got: string[] = []
    await expect(pieces(run.text(), got)).rejects.toMatchObject({ code: 'text_reset' })
    expect(got).toEqual(['void'])
    await expect(run.result).rejects.toMatchObject({ name: 'AbortError' })
  })

  test('goes on over a retry before anything was given out', async () => {
    const run = new Agent({
      model: scripted([{ reasoning: 'hm', error: busy() }, { text: 'good' }]),
      middleware: [{ name: 'again', on_error: () => retry() }],
    }).stream('go')
    expect(await pieces(run.text())).toEqual(['good'])
  })

  test('that is left cancels the run', async () => {
    const model = talker(10_000)
    const run = new Agent({ model }).stream('go')
    // oxlint-disable-next-line no-unreachable-loop
    for await (const _piece of run.text()) break
    await expect(run.result).rejects.toMatchObject({ name: 'AbortError' })
    expect(model.pulled).toBeLessThan(200)
  })
})
