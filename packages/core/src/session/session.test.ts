import { describe, expect, test } from 'vitest'
import { ConfigError } from '../errors.ts'
import { isDeepFrozen } from '../freeze.ts'
import { userMessage } from '../message.ts'
import type { Message } from '../message.ts'
import { memorySession } from './session.ts'

const hello: Message = userMessage('hello')
const bye: Message = userMessage('bye')

describe('memorySession', () => {
  test('has an id of its own, or the one it is given', () => {
    expect(memorySession().id).toMatch(/^[0-9a-f-]{36}$/)
    expect(memorySession().id).not.toBe(memorySession().id)
    expect(memorySession({ id: 's1' }).id).toBe('s1')
    expect(() => memorySession({ id: '' })).toThrow(ConfigError)
  })

  test('appends in order, after what it started with', async () => {
    const session = memorySession({ messages: [hello] })
    await session.append([bye, hello])
    expect(session.messages).toEqual([hello, bye, hello])
  })

  test('replaces everything', async () => {
    const session = memorySession({ messages: [hello, hello] })
    await session.replace([bye])
    expect(session.messages).toEqual([bye])
  })

  test('never changes a snapshot under its reader', async () => {
    const session = memorySession({ messages: [hello] })
    const before = session.messages
    await session.append([bye])
    const after = session.messages
    await session.replace([])
    expect([before.length, after.length, session.messages.length]).toEqual([1, 2, 0])
  })

  test('gives the same snapshot until something changes', async () => {
    const session = memorySession({ messages: [hello] })
    const before = session.messages
    expect(session.messages).toBe(before)
    expect(isDeepFrozen(before)).toBe(true)
  })

  test('is not touched by later changes to what it was given, nor freezes that', async () => {
    const message = { role: 'user' as const, content: [{ type: 'text' as const, text: 'hello' }] }
    const list: Message[] = [message]
    const session = memorySession({ messages: list })
    await session.append(list)
    message.content.push({ type: 'text', text: 'more' })
    list.length = 0
    expect(session.messages).toEqual([hello, hello])
    expect(Object.isFrozen(session.messages[1]?.content[0])).toBe(true)
  })

  test('shares the messages of a snapshot that is put back', async () => {
    const session = memorySession({ messages: [hello, bye] })
    const [, last] = session.messages
    await session.replace(session.messages.slice(1))
    expect(session.messages[0]).toBe(last)
  })

  test('copies as much as is appended, not the history', async () => {
    const session = memorySession()
    let reads = 0
    const counted = new Proxy([] as Message[], { get: (list, key) => (reads++, Reflect.get(list, key) as unknown) })
    await session.append(Array.from({ length: 1000 }, () => hello))
    const first = session.messages[0]
    await session.append(counted)
    expect(session.messages[0]).toBe(first)
    expect(reads).toBeLessThan(20)
  })
})

describe('a message of the wrong shape', () => {
  const call = { type: 'tool_call', callId: 'c1', toolName: 't', args: {} }
  const result = { type: 'tool_result', callId: 'c1', toolName: 't', content: [], isError: false }

  test.for<[at: string, message: unknown]>([
    ['messages[1] is no message', 'hello'],
    ['messages[1] is no message', { role: 'robot', content: [] }],
    ['messages[1] is no message', { content: [] }],
    ['messages[1] is no message', { role: 'constructor', content: [] }],
    ['messages[1] is no message', { role: 'user', content: 'hello' }],
    ['messages[1].content[0] is no part of a user message', { role: 'user', content: [null] }],
    ['messages[1].content[0] is no part of a user message', { role: 'user', content: [call] }],
    [
      'messages[1].content[0] is no part of a user message',
      { role: 'user', content: [{ type: 'image', mediaType: 'image/png' }] },
    ],
    [
      'messages[1].content[0] is no part of a system message',
      { role: 'system', content: [{ type: 'image', mediaType: 'image/png', url: 'x' }] },
    ],
    ['messages[1].content[0] is no part of a system message', { role: 'system', content: [{ type: 'text' }] }],
    ['messages[1].content[1] is no part of', { role: 'assistant', content: [call, { ...call, callId: 1 }] }],
    ['messages[1].content[0] is no part of', { role: 'assistant', content: [{ ...call, args: '{}' }] }],
    ['messages[1].content[0] is no part of', { role: 'assistant', content: [{ ...call, args: [] }] }],
    ['messages[1].content[0] is no part of', { role: 'assistant', content: [result] }],
    ['messages[1].content[0] is no part of a tool message', { role: 'tool', content: [call] }],
    ['messages[1].content[0] is no part of a tool message', { role: 'tool', content: [{ ...result, content: 'done' }] }],
    ['messages[1].content[0] is no part of a tool message', { role: 'tool', content: [{ ...result, isError: undefined }] }],
  ])('is refused with its place: %s', async ([at, message]) => {
    const session = memorySession({ messages: [bye] })
    const messages = [hello, message as Message]
    expect(() => session.append(messages)).toThrow(ConfigError)
    expect(() => session.append(messages)).toThrow(`session.append: ${at}`)
    expect(() => session.replace(messages)).toThrow(`session.replace: ${at}`)
    expect(() => memorySession({ messages })).toThrow(`memorySession: ${at}`)
    expect(session.messages).toEqual([bye])
  })

  test('so is something that is no list', () => {
    expect(() => memorySession().append(hello as never)).toThrow(/session\.append takes a list of messages/)
  })
})
