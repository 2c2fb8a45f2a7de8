import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Agent, continue_run, deny, memorySession, RunCancelledError, RunController, retry, stop, textOf } from '@koagent/core'
import type { Middleware, UserMessage } from '@koagent/core'
import { points } from '../hooks.ts'
import { scripted } from '../scripted.ts'
import type { ScriptedStep } from '../scripted.ts'
import { busy, work } from '../testing/ask.ts'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import { layer, silent } from '../testing/stage.ts'

const step = fc.record({
  text: fc.constantFrom('', 'one two three'),
  reasoning: fc.constantFrom('', 'hm'),
  calls: fc.nat({ max: 2 }),
  fails: fc.constantFrom(false, false, true),
})
const script = fc.array(step, { maxLength: 4 }).map((steps) =>
  steps.map(({ text, reasoning, calls, fails }): ScriptedStep => ({
    text,
    reasoning,
    toolCalls: Array.from({ length: calls }, () => ({ name: 'work' })),
    ...(fails && { error: busy() }),
  })),
)

/** When somebody says something: at the n-th event or hook, and so many microtasks later. */
const word = fc.record({
  at: fc.nat({ max: 60 }),
  ticks: fc.nat({ max: 12 }),
  interrupt: fc.boolean(),
  isRude: fc.nat({ max: 4 }),
})

const end = fc.constantFrom('none', 'none', 'none', 'cancel', 'stop', 'fail', 'continue')

test.for(modes)('whatever is said and accepted is in the history, or undelivered, once and in order (%s)', async (mode) => {
  await fc.assert(
    fc.asyncProperty(script, fc.array(word, { maxLength: 5 }), end, fc.nat({ max: 5 }), async (steps, words, way, maxTurns) => {
      const controller = new RunController()
      const session = memorySession()
      const accepted: string[] = []
      let seen = 0
      const say = async (n: number): Promise<void> => {
        const { ticks, interrupt, isRude } = words[n] as (typeof words)[number]
        for (let i = 0; i < ticks; i++) await Promise.resolve()
        const text = `${isRude === 0 ? 'rude' : 'word'} ${n}`
        if (controller.steer(text, { interrupt })) accepted.push(text)
      }
      const speaks = layer(
        'speaks',
        points.filter((point) => point !== 'on_session_end'),
        (_, next) => {
          words.forEach(({ at }, n) => void (at === seen && say(n)))
          if (seen++ === 25 && way === 'cancel') controller.cancel('enough')
          return next()
        },
      )
      const ends: Middleware = {
        name: 'ends',
        on_input: (ctx, next) => (textOf(ctx.message).startsWith('rude') ? deny('no') : next()),
        on_error: (ctx, next) => (ctx.phase === 'llm_step' && way !== 'fail' ? retry() : next()),
        ...(way === 'stop' && { after_turn: (ctx, next) => (ctx.turn === 2 ? stop('enough') : next()) }),
        ...(way === 'continue' && { on_stop: (ctx, next) => (ctx.continuations < 2 ? continue_run('go on') : next()) }),
      }
      let last: readonly UserMessage[] | undefined
      const spy: Middleware = { name: 'spy', after_run: async (_, next) => void (last = (await next()).undelivered) }
      const agent = new Agent({
        model: scripted([...steps, ...Array.from({ length: 30 }, () => ({ text: 'the end' }))]),
        tools: [work],
        maxTurns,
        middleware: [spy, speaks, ends],
        logger: silent,
      })
      const outcome = await execute(mode, agent, 'go', { session, controller })
      expectWhole(outcome, session.messages)
      const result = outcome.result ?? (outcome.error instanceof RunCancelledError ? outcome.error.result : undefined)
      if (result) expect(result.undelivered).toEqual(last)
      else expect(outcome.error).toMatchObject({ message: 'busy' })

      const isWord = (text: string): boolean => /^(word|rude)/.test(text)
      const stored = session.messages.map(textOf as (message: object) => string).filter(isWord)
      const left = (last ?? []).map(textOf)
      expect([...stored, ...left].toSorted()).toEqual(accepted.toSorted())
      expect(stored).toEqual(accepted.filter((text) => stored.includes(text)))
      expect(left).toEqual(accepted.filter((text) => left.includes(text)))
      expect(stored.some((text) => text.startsWith('rude'))).toBe(false)
      const told = outcome.events.filter((event) => event.type === 'steer').map(({ message }) => textOf(message))
      expect(told).toEqual(stored)
      expect(controller.cancellation.waiting).toBe(0)
    }),
    { numRuns: 300 },
  )
})
