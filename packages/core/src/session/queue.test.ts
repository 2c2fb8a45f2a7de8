import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { Agent, defineTool, memorySession, RunController, SessionBusyError } from '@koagent/core'
import type { RunOptions, Session } from '@koagent/core'
import { z } from 'zod'
import { scripted } from '../scripted.ts'
import { deferred, settled } from '../testing/calls.ts'
import { execute, modes } from '../testing/kit.ts'
import type { Mode, Outcome } from '../testing/kit.ts'

/** Runs on one session, each of which answers when it is told to. */
function queueOf(mode: Mode, session: Session) {
  const order: string[] = []
  const slept: { ms: number; signal: AbortSignal; end: () => void }[] = []
  const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
    new Promise((end, fail) => {
      slept.push({ ms, signal, end })
      signal.addEventListener('abort', () => fail(signal.reason as Error))
    })
  const start = (name: string, options: RunOptions = { onBusy: 'queue' }) => {
    const gate = deferred()
    const controller = new RunController()
    const model = scripted([async () => (order.push(name), await gate.promise, { text: name })])
    const agent = new Agent({ name, model, runtime: { sleep, randomId: () => name } })
    const done = execute(mode, agent, name, { session, controller, ...options })
    return { done, controller, finish: () => gate.resolve(undefined) }
  }
  return { order, slept, start }
}

const statusOf = ({ result, error }: Outcome): unknown => result?.status ?? error

describe.each(modes)('a session that is in use (%s)', (mode) => {
  test('is had in turn by runs that queue, first come, first served', async () => {
    const session = memorySession()
    const { start, order, slept } = queueOf(mode, session)
    const runs = ['a', 'b', 'c'].map((name) => start(name))
    await settled()
    expect(order).toEqual(['a'])
    for (const run of runs) {
      run.finish()
      expect(statusOf(await run.done)).toBe('completed')
    }
    expect(order).toEqual(['a', 'b', 'c'])
    expect(session.messages.map(({ content }) => content[0])).toEqual(
      ['a', 'a', 'b', 'b', 'c', 'c'].map((text) => ({ type: 'text', text })),
    )
    expect(slept.map(({ ms, signal }) => [ms, signal.aborted])).toEqual([
      [600_000, true],
      [600_000, true],
    ])
  })

  test.each([{}, { onBusy: 'reject' }] satisfies RunOptions[])(
    'is refused at once with %j, before those that queue',
    async (options) => {
      const { start } = queueOf(mode, memorySession())
      const [first, second] = [start('a'), start('b')]
      const refused = await start('c', options).done
      expect(refused.error).toMatchObject({ name: 'SessionBusyError', holder: 'a' })
      for (const run of [first, second]) run.finish()
      expect([statusOf(await first.done), statusOf(await second.done)]).toEqual(['completed', 'completed'])
    },
  )

  test('is not waited for longer than the limit', async () => {
    const { start, slept } = queueOf(mode, memorySession())
    const [first, second, third] = [start('a'), start('b'), start('c')]
    await vi.waitFor(() => expect(slept).toHaveLength(2))
    slept[0]?.end()
    expect((await second.done).error).toMatchObject({ name: 'SessionBusyError', holder: 'a', runId: 'b' })
    first.finish()
    third.finish()
    expect([statusOf(await first.done), statusOf(await third.done)]).toEqual(['completed', 'completed'])
  })

  test('is left at once by a run that is cancelled while it waits, and goes to the next', async () => {
    const { start, order, slept } = queueOf(mode, memorySession())
    const [first, second, third] = [start('a'), start('b'), start('c')]
    await vi.waitFor(() => expect(slept).toHaveLength(2))
    second.controller.cancel('enough')
    const cancelled = await second.done
    expect(cancelled.events.map(({ type }) => type)).toEqual(['run_begin', 'run_cancelled', 'run_end'])
    expect(second.controller.cancellation.waiting).toBe(0)
    first.finish()
    third.finish()
    await Promise.all([first.done, third.done])
    expect(order).toEqual(['a', 'c'])
  })

  test('goes on after a run that failed', async () => {
    const session = memorySession()
    const failing = new Agent({ model: scripted([async () => (await settled(), { error: new Error('broken') })]) })
    const first = execute(mode, failing, 'a', { session })
    await settled()
    const { start } = queueOf(mode, session)
    const second = start('b')
    second.finish()
    expect([(await first).error, statusOf(await second.done)]).toEqual([new Error('broken'), 'completed'])
  })

  test('is refused at once to a run from inside the one that has it', async () => {
    let inner: unknown
    const helper = new Agent({ model: scripted([{ text: 'never' }]) })
    const nest = defineTool({
      name: 'nest',
      description: 'Runs a helper.',
      input: z.object({}),
      execute: async (_, ctx) => {
        inner = await helper.run('go', { session: ctx.session as Session, onBusy: 'queue' }).catch((error: unknown) => error)
      },
    })
    const agent = new Agent({ model: scripted([{ toolCalls: [{ name: 'nest' }] }, { text: 'done' }]), tools: [nest] })
    expect(statusOf(await execute(mode, agent))).toBe('completed')
    expect(inner).toBeInstanceOf(SessionBusyError)
  })
})

test('whoever comes and goes, one run has the session at a time, and none is forgotten', async () => {
  const act = fc.constantFrom('start', 'finish', 'cancel', 'late')
  await fc.assert(
    fc.asyncProperty(fc.array(act, { maxLength: 14 }), async (acts) => {
      const { start, order, slept } = queueOf('run', memorySession())
      const runs: ReturnType<typeof start>[] = []
      for (const [n, kind] of acts.entries()) {
        if (kind === 'start') runs.push(start(String(n)))
        if (kind === 'finish') runs[order.length - 1]?.finish()
        if (kind === 'cancel') runs.at(-1)?.controller.cancel('enough')
        if (kind === 'late') slept.at(-1)?.end()
        await settled()
      }
      for (const run of runs) run.finish()
      const ends = await Promise.all(runs.map(({ done }) => done))
      expect(ends.every(({ result, error }) => result?.status === 'completed' || error instanceof Error)).toBe(true)
      const last = start('last')
      last.finish()
      expect(statusOf(await last.done)).toBe('completed')
    }),
    { numRuns: 60 },
  )
})

test('onBusy that is neither is refused', async () => {
  const agent = new Agent({ model: scripted([{ text: 'hi' }]) })
  await expect(agent.run('go', { onBusy: 'wait' as never })).rejects.toThrow("onBusy is 'reject' or 'queue'")
})
