import { describe, expect, test } from 'vitest'
import { Agent, defineTool, deny, memorySession } from '@koagent/core'
import type { Message } from '@koagent/core'
import { scripted } from '../scripted.ts'
import type { ScriptedModel } from '../scripted.ts'
import { ask } from '../testing/ask.ts'
import { execute, modes } from '../testing/kit.ts'

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
      ['its last message must be', []],
      ['its last message must be', [{ role: 'assistant', content: [{ type: 'text', text: 'hi' }] }]],
      [
        'messages[0] must hold the results',
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

describe('tool names that a provider would refuse', () => {
  const tool = (name: string) => defineTool({ name, description: name, input: { type: 'object' }, execute: () => name })

  test.for(modes)('are mapped on the way out and back: hooks, events and history see ours (%s)', async (mode) => {
    const names: string[] = []
    const model = scripted([({ tools }) => ({ toolCalls: tools.map(({ name }) => ({ name, args: {} })) }), { text: 'done' }])
    const session = memorySession()
    const ours = ['fs.read', 'fs/read', 'fine']
    const agent = new Agent({
      model,
      tools: ours.map(tool),
      middleware: [{ name: 'm', before_tool: (ctx, next) => (names.push(ctx.toolName), next()) }],
    })
    const { events, result } = await execute(mode, agent, 'go', { session })
    expect(result?.status).toBe('completed')
    expect(names).toEqual(ours)
    const sent = model.calls[0]?.tools.map(({ name }) => name) ?? []
    expect(new Set(sent).size).toBe(3)
    expect(sent.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name))).toBe(true)
    expect(sent).toContain('fine')
    expect(model.calls[1]?.messages[1]?.content).toMatchObject(sent.map((toolName) => ({ toolName })))
    expect(model.calls[1]?.messages[2]?.content).toMatchObject(sent.map((toolName) => ({ toolName })))
    for (const type of ['tool_args_delta', 'tool_call_begin', 'tool_result'] as const)
      expect(events.flatMap((event) => (event.type === type ? [event.toolName] : []))).toEqual(ours)
    expect(session.messages[1]?.content).toMatchObject(ours.map((toolName) => ({ toolName })))
  })

  test.for(modes)('are mapped also where toolChoice names one (%s)', async (mode) => {
    const model = scripted([{ text: 'done' }])
    const agent = new Agent({ model, tools: [tool('fs.read')] }).use({
      name: 'm',
      before_llm_step: (ctx, next) => ((ctx.request = { ...ctx.request, toolChoice: { toolName: 'fs.read' } }), next()),
    })
    await execute(mode, agent)
    expect(model.calls[0]).toMatchObject({ tools: [{ name: 'fs_read' }], toolChoice: { toolName: 'fs_read' } })
  })
})

describe('opaque data', () => {
  const history: readonly Message[] = [
    { role: 'user', content: [{ type: 'text', text: 'hi' }] },
    {
      role: 'assistant',
      provider: 'elsewhere',
      providerData: 'whole',
      content: [
        { type: 'reasoning', text: 'hm', providerData: 'signature' },
        { type: 'text', text: 'hello', providerData: 'cited' },
        { type: 'text', text: '', providerData: 'thought' },
        { type: 'tool_call', callId: 'c', toolName: 'work', args: {}, providerData: 'thought' },
      ],
    },
    { role: 'tool', content: [{ type: 'tool_result', callId: 'c', toolName: 'work', content: [], isError: false }] },
  ]

  test.for(modes)('goes back to the provider that wrote it, unchanged, and to no other (%s)', async (mode) => {
    const sentTo = async (provider: string): Promise<Message | undefined> => {
      const model: ScriptedModel = { ...scripted([{ text: 'done' }]), provider }
      const session = memorySession({ messages: history })
      await execute(mode, new Agent({ model }), 'go', { session })
      expect(session.messages.slice(0, 3)).toEqual(history)
      return model.calls[0]?.messages[1]
    }
    expect(await sentTo('elsewhere')).toEqual(history[1])
    expect(await sentTo('here')).toEqual({
      role: 'assistant',
      provider: 'elsewhere',
      content: [
        { type: 'text', text: 'hello' },
        { type: 'tool_call', callId: 'c', toolName: 'work', args: {} },
      ],
    })
  })

  test.for(modes)('that is all a message has leaves no empty message behind (%s)', async (mode) => {
    const model = scripted([{ text: 'done' }])
    const messages: readonly Message[] = [
      { role: 'user', content: [{ type: 'text', text: 'hi' }] },
      { role: 'assistant', provider: 'elsewhere', content: [{ type: 'reasoning', text: 'hm', providerData: 'x' }] },
    ]
    await execute(mode, new Agent({ model }), 'go', { session: memorySession({ messages }) })
    expect(model.calls[0]?.messages.every(({ content }) => content.length > 0)).toBe(true)
  })
})
