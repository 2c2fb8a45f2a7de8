import { describe, expect, test } from 'vitest'
import { ConfigError, continue_run, deny, replace_result, RunController, stop, textOf } from '@koagent/core'
import type { Middleware, RunOptions, RunResult } from '@koagent/core'
import type { Script } from '../scripted.ts'
import { modes } from '../testing/kit.ts'
import { answer, calling, once, steer } from '../testing/steered.ts'

describe.for(modes)('a message to a run under way (%s)', (mode) => {
  test('enters after all tool results, before the model is asked again, and is told', async () => {
    const sources: string[] = []
    const { history, told, accepted, result, events, model } = await steer(mode, [calling, answer], (say) => ({
      name: 'm',
      around_tool: (_, next) => (say('quick'), next()),
      on_input: (ctx, next) => (sources.push(ctx.source), next()),
    }))
    expect(history).toEqual(['user go', 'assistant let me see work', 'tool work', 'user quick', 'assistant done'])
    expect(model.calls[1]?.messages.at(-1)).toMatchObject({ role: 'user', content: [{ text: 'quick' }] })
    expect(sources).toEqual(['run', 'steer'])
    expect(accepted).toEqual([true])
    expect(told.slice(told.indexOf('turn_end completed'))).toEqual(
      expect.arrayContaining(['turn_end completed', 'steer', 'turn_begin']),
    )
    expect(told.indexOf('steer')).toBe(told.indexOf('turn_end completed') + 1)
    expect(events.find(({ type }) => type === 'steer')).toMatchObject({ message: { content: [{ text: 'quick' }] } })
    expect(result).not.toHaveProperty('undelivered')
    expect(result?.messages).toHaveLength(5)
  })

  test('may be text, parts or a message, and is a copy', async () => {
    const parts = [{ type: 'text' as const, text: 'parts' }]
    const message = { role: 'user' as const, content: [{ type: 'text' as const, text: 'a message' }] }
    const { history } = await steer(mode, [calling, answer], (say) => ({
      name: 'm',
      around_tool: (_, next) => {
        for (const said of ['text', parts, message]) say(said)
        message.content = []
        return next()
      },
    }))
    expect(history.slice(3, 6)).toEqual(['user text', 'user parts', 'user a message'])
  })

  test('is refused by on_input alone', async () => {
    const { history, undelivered, result, told } = await steer(mode, [calling, answer], (say) => ({
      name: 'm',
      around_tool: (_, next) => (['a', 'no', 'b'].forEach((text) => say(text)), next()),
      on_input: (ctx, next) => (textOf(ctx.message) === 'no' ? deny('rude') : next()),
    }))
    expect(history.slice(3)).toEqual(['user a', 'user b', 'assistant done'])
    expect(undelivered).toEqual(['no'])
    expect(result?.status).toBe('completed')
    expect(told.filter((type) => type === 'steer')).toHaveLength(2)
  })

  test('is delivered and told as on_input made it', async () => {
    const { history, events, undelivered } = await steer(mode, [calling, answer], (say) => ({
      name: 'm',
      around_tool: (_, next) => (say('secret'), next()),
      on_input: (ctx, next) => {
        if (ctx.source === 'steer') ctx.message = { role: 'user', content: [{ type: 'text', text: '***' }] }
        return next()
      },
    }))
    expect(history[3]).toBe('user ***')
    expect(events.find(({ type }) => type === 'steer')).toMatchObject({ message: { content: [{ text: '***' }] } })
    expect(undelivered).toBeUndefined()
  })

  test.for(['before_turn', 'on_event'] as const)('that comes at %s is in the next request', async (point) => {
    const { history } = await steer(mode, [answer], (say) => {
      const speak = once(() => say('wait'))
      if (point === 'before_turn') return { name: 'm', before_turn: (_, next) => (speak(), next()) }
      return { name: 'm', on_event: (ctx, next) => (ctx.event.type === 'turn_begin' && speak(), next()) }
    })
    expect(history).toEqual(['user go', 'user wait', 'assistant done'])
  })

  test('keeps a run going that was about to stop, whether or not on_stop had a say', async () => {
    for (const on_stop of [undefined, () => stop('fine'), (_: unknown, next: () => Promise<never>) => next()]) {
      const { history, result } = await steer(mode, [answer, { text: 'again' }], (say) => {
        const speak = once(() => say('one more'))
        return { name: 'm', after_turn: (_, next) => (speak(), next()), ...(on_stop && { on_stop }) } as Middleware
      })
      expect(history).toEqual(['user go', 'assistant done', 'user one more', 'assistant again'])
      expect(result).toMatchObject({ status: 'completed', turns: 2, text: 'again' })
    }
  })

  test('comes after what on_stop continues with', async () => {
    const { history } = await steer(mode, [answer, { text: 'again' }], (say) => ({
      name: 'm',
      on_stop: (ctx, next) => (ctx.continuations === 0 ? (say('and this'), continue_run('check')) : next()),
    }))
    expect(history).toEqual(['user go', 'assistant done', 'user check', 'user and this', 'assistant again'])
  })

  test('keeps nothing going where on_input refuses it', async () => {
    const { history, result, undelivered } = await steer(mode, [answer], (say) => ({
      name: 'm',
      after_turn: (_, next) => (say('no'), next()),
      on_input: (ctx, next) => (ctx.source === 'steer' ? deny('no') : next()),
    }))
    expect(history).toEqual(['user go', 'assistant done'])
    expect(result?.status).toBe('completed')
    expect(undelivered).toEqual(['no'])
  })

  test('is accepted until the tick in which the stop is decided, and no longer', async () => {
    // Every microtask of the run's end: what is accepted is delivered or undelivered, and there is one border.
    const seen: string[] = []
    for (let ticks = 0; ticks < 40; ticks++) {
      const controller = new RunController()
      let accepted: boolean | undefined
      const { result, session } = await steer(
        mode,
        [answer, { text: 'again' }],
        () => ({
          name: 'm',
          after_turn: async (ctx, next) => {
            const left = await next()
            if (ctx.turn === 0) {
              let waiting = Promise.resolve()
              for (let i = 0; i < ticks; i++) waiting = waiting.then(() => {})
              void waiting.then(() => (accepted = controller.steer('late')))
            }
            return left
          },
        }),
        { controller },
      )
      const isIn = session.messages.some((message) => textOf(message) === 'late')
      expect(isIn).toBe(accepted === true)
      expect(result).not.toHaveProperty('undelivered')
      seen.push(String(accepted === true))
    }
    expect(seen).toEqual(seen.toSorted().toReversed())
    expect(new Set(seen).size).toBe(2)
  })

  test('waits for a run that has not begun', async () => {
    const controller = new RunController()
    expect(controller.steer('beforehand', { interrupt: true })).toBe(true)
    const { history } = await steer(mode, [answer], () => ({ name: 'm' }), { controller })
    expect(history).toEqual(['user go', 'user beforehand', 'assistant done'])
  })

  test('is refused where it is no message, or the run is cancelled', () => {
    const controller = new RunController()
    expect(() => controller.steer(7 as never)).toThrow(ConfigError)
    expect(() => controller.steer({ role: 'assistant', content: [] } as never)).toThrow(/a message that steers a run is/)
    controller.cancel()
    expect(controller.steer('too late')).toBe(false)
  })
})

/** How a run ends with a message that nobody delivers. */
const exits: readonly {
  readonly name: string
  readonly script?: readonly Script[]
  readonly layer: (say: () => void, controller: RunController) => Omit<Middleware, 'name'>
  readonly status: RunResult['status']
  readonly options?: RunOptions
}[] = [
  { name: 'denied', layer: (say) => ({ before_run: () => (say(), deny('no')) }), status: 'denied' },
  { name: 'denied at its input', layer: (say) => ({ on_input: () => (say(), deny('no')) }), status: 'denied' },
  { name: 'denied at a turn', layer: (say) => ({ before_turn: () => (say(), deny('no')) }), status: 'denied' },
  { name: 'denied at a step', layer: (say) => ({ before_llm_step: () => (say(), deny('no')) }), status: 'denied' },
  { name: 'answered by a layer', layer: (say) => ({ before_run: () => (say(), replace_result('yes')) }), status: 'completed' },
  { name: 'answered at a turn', layer: (say) => ({ before_turn: () => (say(), replace_result('yes')) }), status: 'completed' },
  { name: 'stopped', layer: (say) => ({ after_llm_step: () => (say(), stop('enough')) }), status: 'stopped' },
  { name: 'stopped after a turn', layer: (say) => ({ after_turn: () => (say(), stop('enough')) }), status: 'stopped' },
  {
    name: 'at its limit',
    layer: (say) => ({ after_turn: (_, next) => (say(), next()) }),
    status: 'max_turns',
    options: { maxTurns: 1 },
  },
  {
    name: 'at its limit after a call',
    script: [calling],
    layer: (say) => ({ around_tool: (_, next) => (say(), next()) }),
    status: 'max_turns',
    options: { maxTurns: 1 },
  },
  {
    name: 'failed',
    layer: (say) => ({
      before_llm_step: () => {
        say()
        throw new Error('broken')
      },
    }),
    status: 'failed',
  },
  {
    name: 'failed while it was delivered',
    script: [calling],
    layer: (say) => ({
      around_tool: (_, next) => (say(), next()),
      on_input: (ctx, next) => {
        if (ctx.source === 'steer') throw new Error('broken')
        return next()
      },
    }),
    status: 'failed',
  },
  {
    name: 'cancelled',
    script: [calling],
    layer: (say, controller) => ({ around_tool: (_, next) => (say(), controller.cancel('enough'), next()) }),
    status: 'cancelled',
  },
  {
    name: 'given another result',
    layer: (say) => ({
      around_run: async (_, next) => {
        const { undelivered: _left, ...rest } = await next()
        return rest
      },
      after_run: async (_, next) => {
        const { undelivered: _left, ...rest } = await next()
        return rest
      },
      before_turn: () => (say(), deny('no')),
    }),
    status: 'denied',
  },
]

describe.for(exits)('a run that is $name', ({ script = [answer], layer, status, options }) => {
  test.for(modes)('says what was not delivered (%s)', async (mode) => {
    let seen: RunResult | undefined
    const spy: Middleware = { name: 'spy', after_run: async (_, next) => void (seen = await next()) }
    const { undelivered, error, accepted, history } = await steer(
      mode,
      script,
      (say, controller) => ({
        name: 'm',
        ...layer(
          once(() => (say('first'), say('second'))),
          controller,
        ),
      }),
      { ...options, middleware: [spy] },
    )
    expect(accepted).toEqual([true, true])
    expect(seen).toMatchObject({ status })
    expect(seen?.undelivered?.map(textOf)).toEqual(['first', 'second'])
    if (status === 'failed') expect(error).toMatchObject({ message: 'broken' })
    else expect(undelivered).toEqual(['first', 'second'])
    expect(history).not.toContain('user first')
  })
})
