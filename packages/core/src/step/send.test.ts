import { describe, expect, test } from 'vitest'
import { deny } from '@koagent/core'
import type { Message } from '@koagent/core'
import { ask } from '../testing/ask.ts'
import { modes } from '../testing/kit.ts'

describe('before_llm_step', () => {
  test.for(modes)('adds notes at the end of the request, marked and never stored (%s)', async (mode) => {
    const { model, messages } = await ask(
      mode,
      [{ toolCalls: [{ name: 'work' }] }, { text: 'done' }],
      [
        { name: 'a', before_llm_step: (ctx, next) => (ctx.addContext(`a${ctx.turn}`), next()) },
        { name: 'b', before_llm_step: (ctx, next) => (ctx.addContext('b'), next()) },
      ],
    )
    expect(model.calls.map(({ messages: sent }) => sent.at(-1))).toEqual(
      ['a0\nb', 'a1\nb'].map((text) => ({ role: 'user', content: [{ type: 'text', text, added: true }] })),
    )
    expect(model.calls.map(({ messages: sent }) => sent.length)).toEqual([2, 4])
    expect(JSON.stringify(messages)).not.toContain('added')
  })

  test.for(modes)('rewrites the request for this step only (%s)', async (mode) => {
    const other: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'something else' }] }]
    const { model, messages } = await ask(mode, [{ toolCalls: [{ name: 'work' }] }, { text: 'done' }], {
      before_llm_step: (ctx, next) => {
        if (ctx.turn === 0) ctx.request = { ...ctx.request, messages: other, system: 'be brief' }
        ctx.addContext('note')
        return next()
      },
    })
    expect(model.calls[0]).toMatchObject({ system: 'be brief', messages: [...other, { content: [{ text: 'note' }] }] })
    expect(model.calls[1]).not.toHaveProperty('system')
    expect(model.calls[1]?.messages).toHaveLength(4)
    expect(messages[0]).toMatchObject({ content: [{ text: 'go' }] })
  })

  test.for(modes)('changes the session, and the step sees it (%s)', async (mode) => {
    const { model, messages } = await ask(mode, [{ text: 'done' }], {
      before_llm_step: async (ctx, next) => {
        await ctx.session.append([{ role: 'user', content: [{ type: 'text', text: 'and this' }] }])
        ctx.request = { ...ctx.request, settings: { seed: 1 } }
        return next()
      },
    })
    expect(model.calls[0]).toMatchObject({ settings: { seed: 1 }, messages: [{}, { content: [{ text: 'and this' }] }] })
    expect(messages).toHaveLength(3)
  })

  test.for(modes)('makes a bad request, which is refused in its name and not sent (%s)', async (mode) => {
    const bad: [string, readonly Message[]][] = [
      ['no messages', []],
      ['role assistant', [{ role: 'assistant', content: [{ type: 'text', text: 'hi' }] }]],
      [
        'no call is open',
        [{ role: 'tool', content: [{ type: 'tool_result', callId: 'x', toolName: 'work', content: [], isError: false }] }],
      ],
    ]
    for (const [why, sent] of bad) {
      for (const point of ['before_llm_step', 'around_llm_step'] as const) {
        const { error, model } = await ask(mode, [{ text: 'unused' }], {
          [point]: (ctx: { request: object }, next: () => Promise<never>) => (
            (ctx.request = { ...ctx.request, messages: sent }),
            next()
          ),
        })
        expect(error).toMatchObject({ code: 'bad_request', retryable: false, message: expect.stringContaining(why) })
        expect((error as Error).message).toContain("middleware 'm'")
        expect(model.calls).toHaveLength(0)
      }
    }
  })

  test.for(modes)('denies with its reason (%s)', async (mode) => {
    const { result, told } = await ask(mode, [], { before_llm_step: () => deny('not today') })
    expect(result).toMatchObject({ status: 'denied', text: 'not today' })
    expect(told).toEqual(['step_begin 1', 'step_end 1'])
  })
})
