import { getEventListeners } from 'node:events'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { ModelError } from './errors.ts'
import type { ModelOptions, ModelPart, ModelRequest } from './model.ts'
import { scripted } from './scripted.ts'
import type { ScriptedModel, ScriptedStep } from './scripted.ts'

const request: ModelRequest = { messages: [], tools: [] }
const options: ModelOptions = { signal: new AbortController().signal }

async function ask(model: ScriptedModel, asked: ModelRequest = request, given: ModelOptions = options): Promise<ModelPart[]> {
  const parts: ModelPart[] = []
  for await (const part of model.stream(asked, given)) parts.push(part)
  return parts
}

describe('a scripted model', () => {
  test('answers each request with its step, all parts in order', async () => {
    const usage = { inputTokens: 3, outputTokens: 4 }
    const model = scripted([
      { reasoning: 'so so', text: ' One  two\nthree', toolCalls: [{ name: 'add', args: { n: 1 } }], usage },
      { text: 'done' },
    ])
    expect(await ask(model)).toEqual([
      { type: 'reasoning_delta', text: 'so ' },
      { type: 'reasoning_delta', text: 'so' },
      { type: 'reasoning_end' },
      { type: 'text_delta', text: ' ' },
      { type: 'text_delta', text: 'One  ' },
      { type: 'text_delta', text: 'two\n' },
      { type: 'text_delta', text: 'three' },
      { type: 'tool_call_delta', callId: 'call_1', toolName: 'add', delta: '{"n":1}' },
      { type: 'tool_call', callId: 'call_1', toolName: 'add', args: '{"n":1}' },
      { type: 'usage', usage },
      { type: 'finish', reason: 'tool_calls' },
    ])
    expect(await ask(model)).toEqual([
      { type: 'text_delta', text: 'done' },
      { type: 'finish', reason: 'stop' },
    ])
  })

  test('says nothing for an empty step, and finishes as it is told', async () => {
    expect(await ask(scripted([{}]))).toEqual([{ type: 'finish', reason: 'stop' }])
    expect(await ask(scripted([{ text: '', toolCalls: [], finishReason: 'length' }]))).toEqual([
      { type: 'finish', reason: 'length' },
    ])
  })

  test('numbers its calls over its life, and keeps ids and raw arguments that it is given', async () => {
    const model = scripted([
      { toolCalls: [{ name: 'a' }, { name: 'b', args: '{"n": 1, }', id: '' }] },
      { toolCalls: [{ name: 'c', args: '' }] },
    ])
    const calls = [...(await ask(model)), ...(await ask(model))].filter((part) => part.type === 'tool_call')
    expect(calls).toEqual([
      { type: 'tool_call', callId: 'call_1', toolName: 'a', args: '{}' },
      { type: 'tool_call', callId: '', toolName: 'b', args: '{"n": 1, }' },
      { type: 'tool_call', callId: 'call_2', toolName: 'c', args: '' },
    ])
  })

  test('makes a step from the request', async () => {
    const model = scripted([({ system }) => ({ text: system ?? '' }), async ({ tools }) => ({ text: `${tools.length}` })])
    expect(await ask(model, { ...request, system: 'hi' })).toContainEqual({ type: 'text_delta', text: 'hi' })
    expect(await ask(model)).toContainEqual({ type: 'text_delta', text: '0' })
  })

  test('streams raw parts and adds nothing', async () => {
    const parts: ModelPart[] = [
      { type: 'raw', value: 1 },
      { type: 'text_delta', text: '' },
    ]
    expect(await ask(scripted([{ parts, text: 'unused' }]))).toEqual(parts)
  })

  test.for<[string, ScriptedStep, number]>([
    ['at once', { error: 'boom' }, 0],
    ['after what it said', { text: 'hi', error: 'boom' }, 1],
    ['after raw parts', { parts: [{ type: 'raw', value: 1 }], error: 'boom' }, 1],
  ])('throws its error as it is, %s', async ([, step, count]) => {
    const parts: ModelPart[] = []
    const thrown: unknown = await (async () => {
      for await (const part of scripted([step]).stream(request, options)) parts.push(part)
    })().catch((error: unknown) => error)
    expect(thrown).toBe('boom')
    expect(parts.length).toBe(count)
  })

  test('says how many steps there were when the script has run out', async () => {
    const model = scripted([{}])
    await ask(model)
    const error: unknown = await ask(model).catch((thrown: unknown) => thrown)
    expect(error).toBeInstanceOf(ModelError)
    expect(error).toMatchObject({
      retryable: false,
      provider: 'scripted',
      message: expect.stringContaining('only 1 step was scripted'),
    })
    await expect(ask(scripted([]))).rejects.toThrow('only 0 steps were scripted')
  })

  test('records each request as it was', async () => {
    const model = scripted([{}, {}])
    const messages: ModelRequest['messages'][number][] = []
    await ask(model, { ...request, messages })
    messages.push({ role: 'user', content: [] })
    await ask(model, { ...request, messages })
    expect(model.calls.map((call) => call.messages.length)).toEqual([0, 1])
    expect([model.provider, model.id]).toEqual(['scripted', 'scripted'])
  })

  test('does not touch the signal where there is nothing to wait for', async () => {
    const untouched: ModelOptions = {
      get signal(): AbortSignal {
        throw new Error('touched')
      },
    }
    expect(await ask(scripted([{ text: 'a b', toolCalls: [{ name: 'c' }] }]), request, untouched)).toHaveLength(5)
  })
})

describe('delayMs', () => {
  afterEach(() => vi.useRealTimers())

  test('waits before the first part', async () => {
    vi.useFakeTimers()
    let came = false
    const first = ask(scripted([{ text: 'hi', delayMs: 50 }])).then(() => (came = true))
    await vi.advanceTimersByTimeAsync(49)
    expect(came).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    await first
    expect(came).toBe(true)
    expect(getEventListeners(options.signal, 'abort')).toEqual([])
  })

  test('ends at once with the reason of an abort, and leaves no timer and no listener', async () => {
    vi.useFakeTimers()
    const controller = new AbortController()
    const first = ask(scripted([{ text: 'hi', delayMs: 50 }]), request, controller)
    await vi.advanceTimersByTimeAsync(10)
    expect(vi.getTimerCount()).toBe(1)
    controller.abort('enough')
    await expect(first).rejects.toBe('enough')
    expect(vi.getTimerCount()).toBe(0)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })
})
