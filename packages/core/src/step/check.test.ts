import { describe, expect, test } from 'vitest'
import { deepFreeze } from '../freeze.ts'
import { userMessage } from '../message.ts'
import type { AssistantMessage, Message, ToolMessage } from '../message.ts'
import type { ModelRequest, ToolSpec } from '../model.ts'
import { toResult } from '../tool/serialise.ts'
import { checkRequest } from './check.ts'

const user = userMessage('hello')
const text: AssistantMessage = { role: 'assistant', content: [{ type: 'text', text: 'hi' }] }
const calls = (...ids: string[]): AssistantMessage => ({
  role: 'assistant',
  content: ids.map((callId) => ({ type: 'tool_call', callId, toolName: 'read', args: {} })),
})
const results = (...ids: string[]): ToolMessage => ({
  role: 'tool',
  content: ids.map((callId) => ({ type: 'tool_result', callId, toolName: 'read', ...toResult('ok') })),
})
const tool = (name: string): ToolSpec => ({ name, description: '', inputSchema: { type: 'object' } })
const named = (toolName: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'tool_call', callId: 'a', toolName, args: {} }],
})

function check(messages: readonly Message[], rest: Partial<ModelRequest> = {}): string | undefined {
  return checkRequest({ messages, tools: [tool('read')], ...rest })
}

describe('checkRequest lets pass', () => {
  test.for<[what: string, messages: Message[]]>([
    ['one user message', [user]],
    ['calls with their results, in order', [user, calls('a', 'b'), results('a', 'b')]],
    ['several turns', [user, calls('a'), results('a'), text, user, calls('b'), results('b'), user]],
    ['system text in between', [{ role: 'system', content: [{ type: 'text', text: 's' }] }, user]],
    [
      'an image alone',
      [{ role: 'user', content: [{ type: 'image', mediaType: 'image/png', url: 'https://example.com/a.png' }] }],
    ],
  ])('%s', ([, messages]) => {
    expect(check(messages)).toBeUndefined()
  })

  test('a tool choice among its tools, and requests without tools', () => {
    expect(check([user], { toolChoice: { toolName: 'read' } })).toBeUndefined()
    expect(check([user], { toolChoice: 'required' })).toBeUndefined()
    expect(check([user], { tools: [] })).toBeUndefined()
  })
})

describe('checkRequest refuses', () => {
  test.for<[sentence: string, messages: Message[]]>([
    ['its last message must be a user or tool message with content', []],
    ['its last message must be a user or tool message with content', [user, text]],
    ['its last message must be a user or tool message with content', [user, { role: 'system', content: [] }]],
    ['its last message must be a user or tool message with content', [{ role: 'user', content: [] }]],
    ['messages[2] must hold the results of the calls before it, and of no other: ["a"]', [user, calls('a'), user]],
    [
      'messages[2] must hold the results of the calls before it, and of no other: ["a","b"]',
      [user, calls('a', 'b'), results('a')],
    ],
    [
      'messages[2] must hold the results of the calls before it, and of no other: ["a","b"]',
      [user, calls('a', 'b'), results('b', 'a')],
    ],
    ['messages[2] must hold the results of the calls before it, and of no other: ["a"]', [user, calls('a'), results('a', 'a')]],
    ['messages[1] must hold the results of the calls before it, and of no other: []', [user, results('x')]],
    ["messages[3] has a call id that is empty or not unique: 'a'", [user, calls('a'), results('a'), calls('a'), results('a')]],
    ["messages[0] has a call id that is empty or not unique: 'a'", [calls('a', 'a'), results('a', 'a')]],
    ["messages[1] has a call id that is empty or not unique: ''", [user, calls(''), results('')]],
    ["the tool name 'fs.read' must be 1 to 64 of a-z", [user, named('fs.read'), results('a')]],
  ])('%s', ([sentence, messages]) => {
    expect(check(messages)).toContain(sentence)
  })

  test.for<[sentence: string, rest: Partial<ModelRequest>]>([
    ["the tool name 'fs.read' must be 1 to 64 of a-z", { tools: [tool('fs.read')] }],
    ["the tool name '' must be 1 to 64 of a-z", { tools: [tool('')] }],
    [`the tool name '${'x'.repeat(65)}' must be 1 to 64 of a-z`, { tools: [tool('x'.repeat(65))] }],
    ["two tools are named 'read'", { tools: [tool('read'), tool('read')] }],
    ["its toolChoice 'write' is none of its tools", { toolChoice: { toolName: 'write' } }],
  ])('%s', ([sentence, rest]) => {
    expect(check([user], rest)).toContain(sentence)
  })

  test('an open call after any number of good requests', () => {
    const history = [user, calls('a'), results('a')]
    for (let i = 0; i < 3; i++) {
      expect(check(deepFreeze([...history]))).toBeUndefined()
      expect(check(deepFreeze([...history, calls('b'), user]))).toContain('messages[4] must hold the results')
      expect(check(deepFreeze([...history, calls('a'), results('a')]))).toContain('not unique')
    }
  })

  test('a call with an illegal name for as long as it is there', () => {
    const [first, call, result] = deepFreeze([user, named('fs.read'), results('a')])
    if (!first || !call || !result) return
    for (const end of [[], [user], [user, calls('b'), results('b')]]) {
      expect(check(deepFreeze([first, call, result, ...end]))).toContain("the tool name 'fs.read'")
    }
    expect(check(deepFreeze([first, user]))).toBeUndefined()
  })

  test('a change to messages that were not frozen', () => {
    const { role, content } = calls('a')
    const open = [...content]
    const messages: Message[] = [user, { role, content: open }, results('a')]
    expect(check(messages)).toBeUndefined()
    open.push(...calls('b').content)
    expect(check(deepFreeze([...messages]))).toContain('and of no other: ["a","b"]')
  })

  test('a change to a history that is not frozen', () => {
    const messages: Message[] = [user, calls('a'), results('a')]
    expect(check(messages)).toBeUndefined()
    messages.splice(2, 1, user)
    expect(check(messages)).toBeDefined()
  })
})
