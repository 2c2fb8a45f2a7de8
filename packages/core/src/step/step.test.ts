import { describe, expect, test } from 'vitest'
import { memorySession, replace_result, retry, stop } from '@koagent/core'
import type { Message, Model } from '@koagent/core'
import { scripted } from '../scripted.ts'
import { ask, busy } from '../testing/ask.ts'
import { modes } from '../testing/kit.ts'

describe('a retry', () => {
  test.for(modes)('decided at on_error asks again, and takes back what was said (%s)', async (mode) => {
    const usage = { inputTokens: 1, outputTokens: 2 }
    const { result, told, model } = await ask(
      mode,
      [
        { text: 'a bad', usage, error: busy() },
        { text: 'good', usage },
      ],
      {
        on_error: (ctx) => retry({ reason: `${ctx.phase} ${ctx.attempt}` }),
      },
    )
    expect(told).toEqual(['step_begin 1', 'text 1 a', 'text 1 bad', 'reset 1', 'retry 2 llm_step 1', 'text 2 good', 'step_end 2'])
    expect(result).toMatchObject({ text: 'good', usage: { inputTokens: 2, outputTokens: 4 }, turns: 1 })
    expect(model.calls).toHaveLength(2)
  })

  test.for(modes)('needs no reset where nothing was said (%s)', async (mode) => {
    const { told } = await ask(mode, [{ error: busy() }, { text: 'good' }], { on_error: () => retry() })
    expect(told).toEqual(['step_begin 1', 'retry 2 busy', 'text 2 good', 'step_end 2'])
  })

  test.for(modes)('decided at after_llm_step asks again; outer layers see the decision (%s)', async (mode) => {
    const seen: unknown[] = []
    const { told, messages } = await ask(
      mode,
      [{ text: 'bad' }, { text: 'good' }],
      [
        {
          name: 'outer',
          after_llm_step: async (ctx, next) => void (await next(), seen.push([ctx.step.finishReason, ctx.decision?.kind])),
        },
        { name: 'judge', after_llm_step: (ctx, next) => (ctx.attempt === 1 ? retry({ reason: 'poor' }) : next()) },
      ],
    )
    expect(told).toEqual(['step_begin 1', 'text 1 bad', 'reset 1', 'retry 2 poor', 'text 2 good', 'step_end 2'])
    expect(seen).toEqual([
      ['stop', 'retry'],
      ['stop', undefined],
    ])
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant'])
  })

  test.for(modes)('merges its request into all later attempts, another model too (%s)', async (mode) => {
    const fallback = scripted([{ error: busy() }, { text: 'from the fallback' }])
    const seen: string[] = []
    const { result, model } = await ask(mode, [{ error: busy() }], {
      around_llm_step: (ctx, next) => (
        seen.push(`${ctx.attempt} ${ctx.request.model === fallback ? 'fallback' : 'first'} ${ctx.request.settings?.seed}`),
        next()
      ),
      on_error: (ctx) =>
        ctx.attempt === 1 ? retry({ request: { model: fallback } }) : retry({ request: { settings: { seed: 7 } } }),
    })
    expect(seen).toEqual(['1 first undefined', '2 fallback undefined', '3 fallback 7'])
    expect(result?.text).toBe('from the fallback')
    expect([model.calls.length, fallback.calls.length]).toEqual([1, 2])
    expect(fallback.calls[1]).toMatchObject({ settings: { seed: 7 }, messages: model.calls[0]?.messages })
  })

  test.for(modes)('is capped at ten attempts: then the failure stands (%s)', async (mode) => {
    const { error, model } = await ask(
      mode,
      Array.from({ length: 20 }, (_, i) => ({ error: new Error(`${i + 1}`) })),
      { on_error: () => retry() },
    )
    expect(error).toMatchObject({ message: '10' })
    expect(model.calls).toHaveLength(10)
  })

  test.for(modes)('is capped at ten attempts: then the value stands (%s)', async (mode) => {
    const { result, model } = await ask(
      mode,
      Array.from({ length: 20 }, (_, i) => ({ text: `${i + 1}` })),
      { after_llm_step: () => retry() },
    )
    expect(result?.text).toBe('10')
    expect(model.calls).toHaveLength(10)
  })

  test.for(modes)('shares its count with fallbacks (%s)', async (mode) => {
    let asked = 0
    const { error } = await ask(mode, [{ error: new Error('model') }], {
      around_llm_step: () => {
        asked++
        throw new Error('unused')
      },
      on_error: () => replace_result('instead'),
    })
    // The layer fails, not the model: its failure is no step's.
    expect(error).toMatchObject({ message: 'unused' })
    expect(asked).toBe(1)
    const again = await ask(
      mode,
      Array.from({ length: 20 }, () => ({ error: busy() })),
      {
        on_error: (ctx) => (ctx.attempt < 10 ? retry() : replace_result('instead')),
      },
    )
    expect(again.error).toMatchObject({ message: 'busy' })
  })

  test.for(modes)('leaves nothing of the attempt that was thrown away, also when the run ends meanwhile (%s)', async (mode) => {
    const { error, messages } = await ask(mode, [{ text: 'void', toolCalls: [{ name: 'work' }] }], {
      after_llm_step: (ctx) => (setImmediate(() => ctx.controller.cancel()), retry({ delayMs: 60_000 })),
    })
    expect(error).toMatchObject({ name: 'AbortError', result: { text: '' } })
    expect(messages.map(({ role }) => role)).toEqual(['user'])
  })

  test.for(modes)('counts the usage of each attempt once (%s)', async (mode) => {
    const usage = { inputTokens: 3, outputTokens: 1 }
    const refusing: Model = {
      provider: 'p',
      id: 'refusing',
      stream() {
        throw busy()
      },
    }
    const { result } = await ask(
      mode,
      [
        { usage, error: busy() },
        { text: 'good', usage },
      ],
      {
        around_llm_step: (ctx, next) => {
          if (ctx.attempt === 2) ctx.request = { ...ctx.request, model: refusing }
          return next()
        },
        on_error: () => retry(),
      },
    )
    expect(result?.usage).toEqual({ inputTokens: 6, outputTokens: 2 })
  })
})

describe('the end of a step', () => {
  test.for(modes)('comes also when its answer cannot be stored (%s)', async (mode) => {
    const inner = memorySession()
    const full = new Error('disk full')
    const session = {
      id: 's',
      get messages() {
        return inner.messages
      },
      append: (messages: readonly Message[]) => {
        if (messages[0]?.role === 'assistant') throw full
        return inner.append(messages)
      },
      replace: inner.replace,
    }
    const asked: string[] = []
    const { error } = await ask(mode, [{ text: 'hi' }], { on_error: (ctx, next) => (asked.push(ctx.phase), next()) }, { session })
    expect(error).toBe(full)
    expect(asked).toEqual(['session'])
  })

  test.for(modes)('holds the whole message, which is what is stored (%s)', async (mode) => {
    const { events, messages } = await ask(mode, [{ reasoning: 'hm', text: 'hi there' }], {})
    const end = events.find((event) => event.type === 'step_end')
    expect(end).toMatchObject({ status: 'completed', finishReason: 'stop', message: messages[1] })
  })
})

test.for(modes)('stop at after_llm_step beats retry, whoever says which (%s)', async (mode) => {
  const { result, model } = await ask(
    mode,
    [{ text: 'one' }],
    [
      { name: 'a', after_llm_step: () => retry() },
      { name: 'b', after_llm_step: () => stop('enough') },
    ],
  )
  expect(result).toMatchObject({ status: 'stopped', reason: 'enough', text: 'one' })
  expect(model.calls).toHaveLength(1)
})
