import { describe, expect, test } from 'vitest'
import { demoModel } from './demo.ts'
import { answerTo, partsOf, run, user } from './testing/conversation.ts'
import { home, office, repository, tool } from './testing/tools.ts'

describe('says what it cannot do', () => {
  test.for(['tell me a joke', 'start the car', 'book a flight to Rome', 'delete my account', 'Hi!', 'Qu’est-ce que c’est ?'])(
    'no tool for: %s',
    async (request) => {
      const { turns, said } = await run([...home, ...office], request)
      expect(turns).toEqual([])
      for (const { name } of [...home, ...office].slice(0, 10)) expect(said).toContain(name)
      expect(said).toContain('not a language model')
    },
  )

  test('without tools', async () => {
    expect((await answerTo({ messages: [user('read a.txt')] })).said).toContain('I was given no tools')
    expect((await answerTo({ messages: [], tools: home })).said).toContain('get_humidity')
  })

  test('a required value that the words leave open', async () => {
    const { turns, said } = await run(office, 'file an expense of 30, and translate "yes" into Greek')
    expect(turns).toEqual([[['translate_phrase', { phrase: 'yes', language: 'Greek' }]]])
    expect(said).toContain('I would call file_expense, but the words do not say: category')
  })

  test('defaults, single choices and switches that are not mentioned are no gap', async () => {
    const parameters = { level: { type: 'integer', default: 3 }, mode: ['only'], forced: 'flag', name: 'text' } as const
    const { turns } = await run([tool('zap', 'Zaps', parameters)], 'zap Bob')
    expect(turns).toEqual([[['zap', { level: 3, mode: 'only', forced: false, name: 'Bob' }]]])
  })
})

describe('tool choice', () => {
  const messages = [user('read a.txt, then list the files')]

  test('none: it says what it would call', async () => {
    const { calls, said } = await answerTo({ messages, tools: repository, toolChoice: 'none' })
    expect(calls).toEqual([])
    expect(said).toContain('I would call read_file (a.txt)')
  })

  test('one tool: it calls no other', async () => {
    const { calls } = await answerTo({ messages, tools: repository, toolChoice: { toolName: 'list_files' } })
    expect(calls.map(({ toolName }) => toolName)).toEqual(['list_files'])
  })

  test('required: it calls the nearest tool with the words as they are, once', async () => {
    const tools = [tool('final_answer', 'Gives the answer', { answer: 'text' })]
    const first = await answerTo({ messages: [user('Hello there')], tools, toolChoice: 'required' })
    expect(first.calls.map(({ toolName, args }) => [toolName, args])).toEqual([['final_answer', { answer: 'Hello there' }]])
    const { messages: after } = await run(tools, 'give the final answer "4"')
    expect((await answerTo({ messages: after.slice(0, 3), tools, toolChoice: 'required' })).calls).toEqual([])
  })
})

describe('streams', () => {
  const request = { messages: [user('read a.txt and list the files')], tools: repository }

  test('text in small pieces, calls in pieces and whole, usage, one finish', async () => {
    const parts = await partsOf(request)
    expect(parts.map(({ type }) => type).join(' ')).toMatch(
      /^(text_delta ){2,}((tool_call_delta ){2,3}tool_call ){2}usage finish$/,
    )
    for (const part of parts) if (part.type === 'text_delta') expect(part.text.trim().split(/\s+/).length).toBeLessThan(4)
    const [whole] = parts.filter((part) => part.type === 'tool_call')
    const deltas = parts.filter((part) => part.type === 'tool_call_delta' && part.callId === whole?.callId)
    expect(deltas.map((part) => part.type === 'tool_call_delta' && part.delta).join('')).toBe(whole?.args)
    expect(parts.at(-1)).toEqual({ type: 'finish', reason: 'tool_calls' })
    expect((await partsOf({ messages: [user('hm')] })).at(-1)).toEqual({ type: 'finish', reason: 'stop' })
  })

  test('the same for the same request, and call ids that the conversation does not have', async () => {
    expect(await partsOf(request)).toEqual(await partsOf(request))
    const { messages } = await run(repository, 'read a.txt, then read b.txt, then list the files')
    const moved = [user('read a.txt'), ...messages.slice(3, 5)]
    const ids = [...moved, ...(await run(repository, moved)).messages].flatMap((message) =>
      message.role === 'assistant' ? message.content : [],
    )
    const calls = ids.filter((part) => part.type === 'tool_call').map(({ callId, args }) => `${callId} ${JSON.stringify(args)}`)
    expect(new Set(calls.map((call) => call.split(' ')[0])).size).toBe(new Set(calls).size)
  })

  test('usage grows with the conversation and the answer', async () => {
    const usage = async (words: string) =>
      (await partsOf({ messages: [user(words)] })).find((part) => part.type === 'usage')?.usage
    const [short, long] = [await usage('hm'), await usage('hm '.repeat(400))]
    expect(short?.outputTokens).toBeGreaterThan(20)
    expect((long?.inputTokens ?? 0) - (short?.inputTokens ?? 0)).toBeCloseTo((400 * 3 - 2) / 4, -1)
  })

  test('no more than the tokens that it may', async () => {
    const parts = await partsOf({ ...request, settings: { maxOutputTokens: 3 } })
    expect(parts.flatMap((part) => (part.type === 'text_delta' ? [part.text] : [])).join('').length).toBe(12)
    expect(parts.some(({ type }) => type === 'tool_call')).toBe(false)
    expect(parts.at(-1)).toEqual({ type: 'finish', reason: 'length' })
  })

  test.for([0, 60_000])('it stops at once when the signal aborts (delayMs %d)', async (delayMs) => {
    const controller = new AbortController()
    const reason = new Error('enough')
    const answer = demoModel({ delayMs }).stream({ messages: [user('hm')], tools: [] }, { signal: controller.signal })
    const parts = answer[Symbol.asyncIterator]()
    if (delayMs === 0) await parts.next()
    const next = parts.next()
    controller.abort(reason)
    await expect(next).rejects.toBe(reason)
    await expect(parts.next()).resolves.toEqual({ done: true, value: undefined })
  })

  test('a signal that was aborted before gives no part', async () => {
    const reason = new Error('too late')
    const answer = demoModel({ delayMs: 60_000 }).stream(
      { messages: [user('hm')], tools: [] },
      { signal: AbortSignal.abort(reason) },
    )
    const parts = answer[Symbol.asyncIterator]()
    await expect(parts.next()).rejects.toBe(reason)
  })
})
