import { describe, expect, test } from 'vitest'
import { continue_run, deny, stop } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { ask } from '../testing/ask.ts'
import { modes } from '../testing/kit.ts'
import { maxContinuations } from './loop.ts'

const answers = (count: number) => Array.from({ length: count }, (_, i) => ({ text: `answer ${i + 1}` }))
const calls = (count: number) => Array.from({ length: count }, () => ({ toolCalls: [{ name: 'work' }] }))

describe('the turn limit', () => {
  test.for(modes)('does not depend on how many layers there are (%s)', async (mode) => {
    const nothing = (i: number): Middleware => ({
      name: `m${i}`,
      before_turn: (_, next) => next(),
      before_llm_step: (_, next) => next(),
      around_llm_step: (_, next) => next(),
      after_llm_step: (_, next) => next(),
      after_turn: (_, next) => next(),
    })
    for (const layers of [0, 1, 12]) {
      const { result, model } = await ask(
        mode,
        calls(9),
        Array.from({ length: layers }, (_, i) => nothing(i)),
        { maxTurns: 4 },
      )
      expect(result).toMatchObject({ status: 'max_turns', turns: 4, reason: expect.stringContaining('4') })
      expect(model.calls).toHaveLength(4)
    }
  })

  test.for(modes)('may be changed while the run goes on (%s)', async (mode) => {
    const turnsWith = async (hooks: Omit<Middleware, 'name'>): Promise<number | undefined> =>
      (await ask(mode, calls(9), hooks, { maxTurns: 2 })).result?.turns
    expect(await turnsWith({ before_run: (ctx, next) => (ctx.maxTurns++, next()) })).toBe(3)
    expect(await turnsWith({ before_turn: (ctx, next) => (ctx.turn === 0 && (ctx.maxTurns = 5), next()) })).toBe(5)
    expect(await turnsWith({ after_turn: (ctx, next) => (ctx.turn === 1 && (ctx.maxTurns = 3), next()) })).toBe(3)
    expect(await turnsWith({ after_turn: (ctx, next) => ((ctx.maxTurns = 1), next()) })).toBe(1)
  })

  test.for(modes)('is that of the run, where it has one, then that of the agent (%s)', async (mode) => {
    const seen: number[] = []
    const see: Omit<Middleware, 'name'> = { before_run: (ctx, next) => (seen.push(ctx.maxTurns), next()) }
    await ask(mode, answers(1), see)
    await ask(mode, answers(1), see, { maxTurns: 3 })
    expect(seen).toEqual([20, 3])
  })

  test.for(modes)('is not reached by an answer in the last turn (%s)', async (mode) => {
    const { result } = await ask(mode, [...calls(1), ...answers(1)], {}, { maxTurns: 2 })
    expect(result?.status).toBe('completed')
  })
})

describe('continue_run', () => {
  test.for(modes)('hands the model a message and goes on; the input passes on_input (%s)', async (mode) => {
    const inputs: string[] = []
    const seen: unknown[] = []
    const { result, messages } = await ask(mode, answers(2), {
      on_input: (ctx, next) => (inputs.push(ctx.source), next()),
      on_stop: (ctx, next) => {
        seen.push([ctx.continuations, ctx.stopHookActive, ctx.result.text])
        return ctx.stopHookActive ? next() : continue_run('are you sure?')
      },
    })
    expect(result).toMatchObject({ status: 'completed', text: 'answer 2', turns: 2 })
    expect(seen).toEqual([
      [0, false, 'answer 1'],
      [1, true, 'answer 2'],
    ])
    expect(inputs).toEqual(['run', 'continue_run'])
    expect(messages[2]).toMatchObject({ role: 'user', content: [{ text: 'are you sure?' }] })
  })

  test.for(modes)('is capped, also across turns that use tools (%s)', async (mode) => {
    const script = Array.from({ length: 12 }, () => [...calls(1), ...answers(1)]).flat()
    const { result } = await ask(mode, script, { on_stop: () => continue_run('more') }, { maxTurns: 100 })
    expect(result).toMatchObject({ status: 'stopped', reason: 'capped', turns: 2 * (maxContinuations + 1) })
  })

  test.for(modes)('counts against the turn limit (%s)', async (mode) => {
    const { result } = await ask(mode, answers(9), { on_stop: () => continue_run('more') }, { maxTurns: 3 })
    expect(result).toMatchObject({ status: 'max_turns', turns: 3 })
  })

  test.for(modes)('that on_input denies is not delivered, and the run ends as it was about to (%s)', async (mode) => {
    const { result, messages } = await ask(mode, answers(2), {
      on_input: (ctx, next) => (ctx.source === 'continue_run' ? deny('no') : next()),
      on_stop: () => continue_run('more'),
    })
    expect(result).toMatchObject({ status: 'completed', text: 'answer 1' })
    expect(messages).toHaveLength(2)
  })

  test.for(modes)('loses against a stop, whoever says which (%s)', async (mode) => {
    for (const order of [0, 1]) {
      const layers: Middleware[] = [
        { name: 'more', on_stop: () => continue_run('more') },
        { name: 'stop', on_stop: () => stop('fine') },
      ]
      const { model } = await ask(mode, answers(2), order ? layers.toReversed() : layers)
      expect(model.calls).toHaveLength(1)
    }
  })
})

describe('on_input', () => {
  test.for(modes)('rewrites what is stored and sent; run_begin tells the original (%s)', async (mode) => {
    const { events, messages, model } = await ask(mode, answers(1), {
      on_input: (ctx, next) => ((ctx.message = { role: 'user', content: [{ type: 'text', text: 'changed' }] }), next()),
      before_turn: (ctx, next) => {
        expect(ctx.input.content).toEqual([{ type: 'text', text: 'go' }])
        return next()
      },
    })
    expect(events[0]).toMatchObject({ type: 'run_begin', input: { content: [{ text: 'go' }] } })
    expect(messages[0]).toMatchObject({ content: [{ text: 'changed' }] })
    expect(model.calls[0]?.messages[0]).toEqual(messages[0])
  })
})
