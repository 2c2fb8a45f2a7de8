import { describe, expect, test } from 'vitest'
import { replace_result } from '@koagent/core'
import type { LLMStep, Middleware } from '@koagent/core'
import type { Script } from '../scripted.ts'
import { ask, busy, stepOf } from '../testing/ask.ts'
import { modes } from '../testing/kit.ts'

describe('a step that a layer supplies', () => {
  const ways: [string, Omit<Middleware, 'name'>, Script[], number][] = [
    ['text at before_llm_step', { before_llm_step: () => replace_result('instead') }, [], 1],
    ['a step at before_llm_step', { before_llm_step: () => replace_result(stepOf('instead')) }, [], 1],
    ['text at on_error', { on_error: () => replace_result('instead') }, [{ error: busy() }], 2],
    ['a step at on_error', { on_error: () => replace_result(stepOf('instead')) }, [{ error: busy() }], 2],
    ['a step at around_llm_step', { around_llm_step: () => stepOf('instead') }, [], 1],
  ]
  test.for(ways.flatMap((row) => modes.map((mode) => [...row, mode] as const)))(
    'as %s goes through transforms, one delta, after_llm_step ($4)',
    async ([, hooks, script, attempt, mode]) => {
      const seen: string[] = []
      const { result, told, model, messages } = await ask(mode, script, [
        {
          name: 'loud',
          around_llm_step(ctx, next) {
            ctx.transform(async function* (parts) {
              for await (const part of parts) yield part.type === 'text_delta' ? { ...part, text: part.text.toUpperCase() } : part
            })
            return next()
          },
          after_llm_step: async (_, next) => void seen.push(JSON.stringify((await next()).message.content)),
        },
        { name: 'supplier', ...hooks },
      ])
      expect(result).toMatchObject({ status: 'completed', text: 'INSTEAD' })
      expect(told.filter((entry) => entry.startsWith('text'))).toEqual([`text ${attempt} INSTEAD`])
      expect(told.at(-1)).toBe(`step_end ${attempt}`)
      expect(seen).toEqual(['[{"type":"text","text":"INSTEAD"}]'])
      expect(messages.at(-1)).toMatchObject({ role: 'assistant', content: [{ text: 'INSTEAD' }] })
      expect(model.calls).toHaveLength(script.length)
    },
  )

  test.for(modes)('may call tools (%s)', async (mode) => {
    const step: LLMStep = {
      ...stepOf('x'),
      message: { role: 'assistant', content: [{ type: 'tool_call', callId: 'c', toolName: 'work', args: {} }] },
    }
    const { result, messages } = await ask(mode, [{ text: 'done' }], {
      before_llm_step: (ctx, next) => (ctx.turn === 0 ? replace_result(step) : next()),
    })
    expect(result).toMatchObject({ text: 'done', turns: 2 })
    expect(messages[2]).toMatchObject({ content: [{ callId: 'c', isError: false }] })
  })

  test.for(modes)('in place of one that has been streamed is told anew (%s)', async (mode) => {
    const { told, messages } = await ask(mode, [{ text: 'raw' }], {
      around_llm_step: async (_, next) => (await next(), stepOf('cooked')),
    })
    expect(told).toEqual(['step_begin 1', 'text 1 raw', 'reset 1', 'text 1 cooked', 'step_end 1'])
    expect(messages.at(-1)).toMatchObject({ content: [{ text: 'cooked' }] })
  })

  test.for(modes)('is refused in its name when it is none (%s)', async (mode) => {
    for (const hooks of [
      { before_llm_step: () => replace_result({} as never) },
      { on_error: () => replace_result({} as never) },
      { around_llm_step: () => ({}) as never },
    ] satisfies Omit<Middleware, 'name'>[]) {
      const { error } = await ask(mode, [{ error: busy() }], hooks)
      expect(error).toMatchObject({ code: 'hook_contract', middleware: 'm', point: Object.keys(hooks)[0] })
    }
  })
})

describe('after_llm_step', () => {
  test.for(modes)('that rewrites the text takes back the deltas (%s)', async (mode) => {
    const { told, result, messages } = await ask(mode, [{ text: 'raw' }], {
      after_llm_step: async (ctx, next) => {
        const step = await next()
        ctx.step = { ...step, message: { role: 'assistant', content: [{ type: 'text', text: 'clean' }] } }
      },
    })
    expect(told).toEqual(['step_begin 1', 'text 1 raw', 'reset 1', 'text 1 clean', 'step_end 1'])
    expect(result?.text).toBe('clean')
    expect(messages.at(-1)).toMatchObject({ content: [{ text: 'clean' }] })
  })

  test.for(modes)('that rewrites the calls decides which are executed (%s)', async (mode) => {
    const { messages, events } = await ask(mode, [{ toolCalls: [{ name: 'work' }, { name: 'work' }] }, { text: 'done' }], {
      after_llm_step: (ctx, next) => {
        const [first] = ctx.step.message.content
        if (first?.type === 'tool_call') ctx.step = { ...ctx.step, message: { ...ctx.step.message, content: [first] } }
        return next()
      },
    })
    expect(events.filter(({ type }) => type === 'tool_result')).toHaveLength(1)
    expect(messages[2]?.content).toHaveLength(1)
  })

  test.for(modes)('keeps what was said when it leaves the step alone (%s)', async (mode) => {
    const { told } = await ask(mode, [{ text: 'as it is' }], { after_llm_step: (_, next) => next() })
    expect(told.some((entry) => entry.startsWith('reset'))).toBe(false)
  })

  test.for(modes)('that fails leaves nothing of an answer that it did not pass (%s)', async (mode) => {
    const { error, messages, events } = await ask(mode, [{ text: 'unchecked' }], {
      after_llm_step: () => {
        throw new Error('guard')
      },
    })
    expect(error).toMatchObject({ message: 'guard' })
    expect(messages.map(({ role }) => role)).toEqual(['user'])
    expect(events).toContainEqual(expect.objectContaining({ type: 'step_end', status: 'failed' }))
  })
})
