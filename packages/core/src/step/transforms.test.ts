import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { deriveSignal, originOf, retry } from '@koagent/core'
import type { LLMStep, Middleware, Model, ModelPart, Transform } from '@koagent/core'
import { ask, busy, stepOf } from '../testing/ask.ts'
import { modes } from '../testing/kit.ts'

/** A layer that transforms each attempt's stream. */
const transforming = (name: string, transform: Transform, more: Omit<Middleware, 'name'> = {}): Middleware => ({
  name,
  around_llm_step: (ctx, next) => (ctx.transform(transform), next()),
  ...more,
})

const eachText = (change: (text: string) => string): Transform =>
  async function* (parts) {
    for await (const part of parts) yield part.type === 'text_delta' ? { ...part, text: change(part.text) } : part
  }

/** Counts how its attempts were left. */
function tracked(log: string[]): Transform {
  return async function* (parts) {
    log.push('open')
    try {
      yield* parts
      log.push('end')
    } finally {
      log.push('closed')
    }
  }
}

/** Holds all text back until the stream has ended. */
const holdBack: Transform = async function* (parts) {
  let held = ''
  for await (const part of parts) {
    if (part.type === 'text_delta') held += part.text
    else {
      if (part.type === 'finish' && held) yield { type: 'text_delta', text: held }
      yield part
    }
  }
}

describe('transforms', () => {
  test.for(modes)('apply to what all see, the innermost layer first (%s)', async (mode) => {
    const { told, result, messages } = await ask(
      mode,
      [{ text: 'a b' }],
      [
        transforming(
          'outer',
          eachText((text) => `(${text})`),
        ),
        transforming(
          'inner',
          eachText((text) => `[${text}]`),
        ),
      ],
    )
    expect(told).toEqual(['step_begin 1', 'text 1 ([a ])', 'text 1 ([b])', 'step_end 1'])
    expect(result?.text).toBe('([a ])([b])')
    expect(messages[1]).toMatchObject({ content: [{ text: '([a ])([b])' }] })
  })

  test.for(modes)('of one layer apply in the order they were given (%s)', async (mode) => {
    const { result } = await ask(mode, [{ text: 'a' }], {
      around_llm_step(ctx, next) {
        ctx.transform(eachText((text) => `(${text})`))
        ctx.transform(eachText((text) => `[${text}]`))
        return next()
      },
    })
    expect(result?.text).toBe('[(a)]')
  })

  test.for(modes)('may hold back, and are flushed at a normal end (%s)', async (mode) => {
    const { told, result } = await ask(mode, [{ text: 'one two three' }], [transforming('hold', holdBack)])
    expect(told).toEqual(['step_begin 1', 'text 1 one two three', 'step_end 1'])
    expect(result?.text).toBe('one two three')
  })

  test.for(modes)('are made anew for each attempt; what a failed one holds back is discarded (%s)', async (mode) => {
    const log: string[] = []
    const { told } = await ask(
      mode,
      [{ text: 'void', error: busy() }, { text: 'good' }],
      [transforming('log', tracked(log)), transforming('hold', holdBack, { on_error: () => retry() })],
    )
    expect(told).toEqual(['step_begin 1', 'retry 2 busy', 'text 2 good', 'step_end 2'])
    expect(log).toEqual(['open', 'closed', 'open', 'end', 'closed'])
  })

  test.for(modes)('that rewrite arguments rewrite what is executed (%s)', async (mode) => {
    const rewrite: Transform = async function* (parts) {
      for await (const part of parts) yield part.type === 'tool_call' ? { ...part, args: { path: 'b' } } : part
    }
    const { events, messages } = await ask(
      mode,
      [{ toolCalls: [{ name: 'work', args: { path: 'a' } }] }, { text: 'ok' }],
      [transforming('rewrite', rewrite)],
    )
    expect(events).toContainEqual(expect.objectContaining({ type: 'tool_result', args: { path: 'b' } }))
    expect(messages[1]).toMatchObject({ content: [{ args: { path: 'b' } }] })
  })

  const failures: [string, Transform][] = [
    [
      'in its generator',
      // oxlint-disable-next-line require-yield
      async function* () {
        throw new Error('boom')
      },
    ],
    [
      'when it is called',
      () => {
        throw new Error('boom')
      },
    ],
    [
      'after some parts',
      async function* (parts) {
        for await (const part of parts) {
          yield part
          if (part.type === 'text_delta') throw new Error('boom')
        }
      },
    ],
    ['by returning nothing to iterate', (() => undefined) as never],
  ]
  test.for(failures.flatMap((row) => modes.map((mode) => [...row, mode] as const)))(
    'that fail %s fail their attempt, in the name of their layer ($2)',
    async ([, transform, mode]) => {
      const asked: string[] = []
      const { error, events } = await ask(
        mode,
        [{ text: 'a b' }],
        [
          transforming(
            'outer',
            eachText((text) => text),
            { on_error: (ctx, next) => (asked.push(ctx.phase), next()) },
          ),
          transforming('broken', transform, { errors: 'ignore' } as object),
          transforming(
            'inner',
            eachText((text) => text),
          ),
        ],
      )
      expect(originOf(error)).toEqual({ middleware: 'broken', point: 'around_llm_step' })
      expect(events.filter(({ type }) => type === 'hook_error')).toMatchObject([
        { middleware: 'broken', point: 'around_llm_step' },
      ])
      expect(asked).toEqual(['llm_step'])
    },
  )

  test.for(modes)('are not blamed for the model (%s)', async (mode) => {
    const boom = new Error('boom')
    const { error, events } = await ask(
      mode,
      [{ text: 'a', error: boom }],
      [
        transforming(
          'fine',
          eachText((text) => text),
        ),
      ],
    )
    expect(error).toBe(boom)
    expect(originOf(error)).toEqual({ model: 'scripted/scripted' })
    expect(events.some(({ type }) => type === 'hook_error')).toBe(false)
  })

  test.for(modes)('may not be added once the stream has begun (%s)', async (mode) => {
    const { error } = await ask(mode, [{ text: 'a' }], {
      around_llm_step: async (ctx, next) => {
        const step: LLMStep = await next()
        ctx.transform(holdBack)
        return step
      },
    })
    expect(error).toMatchObject({ code: 'hook_contract', message: expect.stringContaining('after next()') })
  })

  test.for(modes)(
    'further out apply to what a layer returns in place of the inner step, inner ones do not (%s)',
    async (mode) => {
      const { result, told } = await ask(
        mode,
        [{ text: 'inner' }],
        [
          transforming(
            'outer',
            eachText((text) => `(${text})`),
          ),
          { name: 'swap', around_llm_step: async (_, next) => (await next(), stepOf('swapped')) },
          transforming(
            'inner',
            eachText((text) => `[${text}]`),
          ),
        ],
      )
      expect(result?.text).toBe('(swapped)')
      expect(told).toEqual(['step_begin 1', 'text 1 ([inner])', 'reset 1', 'text 1 (swapped)', 'step_end 1'])
    },
  )
})

describe('transforms over a model that does not answer', () => {
  const never = new Promise<never>(() => {})
  const deaf = (closed: string[]): Model => ({
    provider: 'p',
    id: 'deaf',
    stream: () => {
      const parts: ModelPart[] = [{ type: 'text_delta', text: 'so far' }]
      return {
        [Symbol.asyncIterator]: () => ({
          next: () => {
            const value = parts.shift()
            return value ? Promise.resolve({ done: false, value }) : never
          },
          return: async () => (closed.push('model'), { done: true, value: undefined }),
        }),
      }
    },
  })

  const ends: [string, Omit<Middleware, 'name'>, string][] = [
    [
      'the cancel of a run',
      { around_llm_step: (ctx, next) => (void setImmediate().then(() => ctx.controller.cancel()), next()) },
      'AbortError',
    ],
    [
      'a time limit',
      {
        around_llm_step(ctx, next) {
          const limit = deriveSignal(ctx.signal, { timeoutMs: 1 })
          ctx.signal = limit.signal
          return next().finally(limit.dispose)
        },
      },
      'TimeoutError',
    ],
  ]
  test.for(ends.flatMap((row) => modes.map((mode) => [...row, mode] as const)))(
    'are closed by %s, and so is the model ($3)',
    async ([, hooks, name, mode]) => {
      const log: string[] = []
      const { error, messages } = await ask(
        mode,
        [],
        [
          { name: 'swap', before_llm_step: (ctx, next) => ((ctx.request = { ...ctx.request, model: deaf(log) }), next()) },
          { name: 'ends', ...hooks },
          transforming('outer', tracked(log)),
          transforming('inner', tracked(log)),
        ],
      )
      await setImmediate()
      expect(error).toMatchObject({ name })
      expect(log.toSorted()).toEqual(['closed', 'closed', 'model', 'open', 'open'])
      expect(messages.at(-1)).toMatchObject({ role: 'assistant', content: [{ text: 'so far' }] })
    },
  )
})
