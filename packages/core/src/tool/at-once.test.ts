import { describe, expect, test } from 'vitest'
import { RunController } from '@koagent/core'
import { callTools, tool } from '../testing/calls.ts'
import { modes } from '../testing/kit.ts'

describe.each(modes)('a tool that answers in the tick of its call (%s)', (mode) => {
  test('and has cancelled the run by then has no result of its own', async () => {
    const controller = new RunController()
    const work = tool('work', () => (controller.cancel('enough'), 'done'))
    const called = await callTools(mode, { calls: ['work', 'work'], tools: [work], run: { controller } })
    expect(called.error).toMatchObject({ name: 'AbortError', cause: 'enough' })
    expect(called.status).toEqual({ c0: 'cancelled', c1: 'cancelled' })
    expect(called.texts[0]).toMatch(/interrupted/)
    expect(called.texts[1]).toMatch(/not executed/)
  })

  test('and has aborted the signal that a layer gave it fails with its reason', async () => {
    const limit = new AbortController()
    const work = tool('work', () => (limit.abort(new Error('over')), 'done'))
    const called = await callTools(mode, {
      calls: ['work'],
      tools: [work],
      middleware: [{ name: 'limit', around_tool: (ctx, next) => ((ctx.signal = limit.signal), next()) }],
    })
    expect(called.texts).toEqual(['over'])
    expect(called.result?.status).toBe('completed')
  })

  test('starts before the next call is judged', async () => {
    const trace: string[] = []
    const work = tool('work', (_, ctx) => void trace.push(`${ctx.callId} runs`))
    await callTools(mode, {
      calls: ['work', 'work'],
      tools: [work],
      middleware: [{ name: 'see', on_permission: (ctx, next) => (trace.push(`${ctx.toolCall.callId} judged`), next()) }],
    })
    expect(trace).toEqual(['c0 judged', 'c0 runs', 'c1 judged', 'c1 runs'])
  })
})

describe.each(modes)('what a tool returns may be (%s)', (mode) => {
  // oxlint-disable-next-line unicorn/no-thenable
  const thenable = { then: (resolve: (value: unknown) => void) => resolve('later') }
  async function* steps(): AsyncGenerator<number, string> {
    yield 1
    return 'at last'
  }

  test.for<[string, () => unknown, string, number]>([
    ['anything that has a then', () => thenable, 'later', 0],
    ['a promise of what has a then', async () => thenable, 'later', 0],
    ['a promise of a generator', async () => steps(), 'at last', 1],
  ])('%s', async ([, give, text, progress]) => {
    const called = await callTools(mode, { calls: ['give'], tools: [tool('give', give)] })
    expect(called.texts).toEqual([text])
    expect(called.of('tool_progress')).toHaveLength(progress)
  })
})
