import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deepFreeze } from '../freeze.ts'
import { callsOf, textOf, userMessage } from '../message.ts'
import type { AssistantMessage, Message, ToolMessage, ToolResultPart } from '../message.ts'
import { toResult } from '../tool/serialise.ts'
import { inspect } from './pairs.ts'
import { interrupted, repair, uniqueCallId } from './repair.ts'

const calls = (...ids: string[]): AssistantMessage => ({
  role: 'assistant',
  content: ids.map((callId) => ({ type: 'tool_call', callId, toolName: `tool-${callId}`, args: {} })),
})
const answer = (callId: string, text = `result of ${callId}`): ToolResultPart => ({
  type: 'tool_result',
  callId,
  toolName: `tool-${callId}`,
  ...toResult(text),
})
const results = (...parts: (string | ToolResultPart)[]): ToolMessage => ({
  role: 'tool',
  content: parts.map((part) => (typeof part === 'string' ? answer(part) : part)),
})
const user = userMessage('go on')
const text: AssistantMessage = { role: 'assistant', content: [{ type: 'text', text: 'done' }] }

/** A history in short: `a+b` calls, `=a+b` their results, an error as `=!a`, and the role of anything else. */
function short(messages: readonly Message[]): string {
  return messages
    .map((message) => {
      if (message.role === 'tool')
        return `=${message.content.map(({ callId, isError }) => (isError ? '!' : '') + callId).join('+')}`
      return (
        (message.role === 'assistant' &&
          callsOf(message)
            .map(({ callId }) => callId)
            .join('+')) ||
        message.role
      )
    })
    .join(' ')
}

describe('repair', () => {
  test.for<[what: string, messages: Message[], repaired: string]>([
    ['a call without a result at the end', [user, calls('a')], 'user a =!a'],
    ['a call without a result before a user message', [user, calls('a'), user], 'user a =!a user'],
    [
      'a call without a result in the middle',
      [calls('a'), text, user, calls('b'), results('b'), user],
      'a =!a assistant user b =b user',
    ],
    ['one of two results missing', [calls('a', 'b'), results('a'), user], 'a+b =a+!b user'],
    ['only the last result missing', [calls('a', 'b', 'c'), results('b', 'c')], 'a+b+c =!a+b+c'],
    ['results in another order', [calls('a', 'b'), results('b', 'a')], 'a+b =a+b'],
    ['results in several messages', [calls('a', 'b'), results('b'), results('a')], 'a+b =a+b'],
    ['a result behind a user message', [calls('a', 'b'), results('a'), user, results('b')], 'a+b =a+b user'],
    ['results of two messages together', [calls('a'), calls('b'), results('b', 'a')], 'a =a b =b'],
    ['a result without a call', [user, results('x'), text], 'user assistant'],
    ['a result before its call', [results('a'), calls('a')], 'a =!a'],
    ['an empty tool message', [user, results(), text], 'user assistant'],
    ['an id used in two turns', [calls('a'), results('a'), calls('a'), results('a')], 'a =a a_2 =a_2'],
    ['an id used twice in one turn', [calls('a', 'a'), results('a', 'a')], 'a+a_2 =a+a_2'],
    [
      'a suffix that is taken',
      [calls('a'), results('a'), calls('a'), results('a'), calls('a_2'), results('a_2')],
      'a =a a_3 =a_3 a_2 =a_2',
    ],
    ['an unanswered call whose id comes again', [calls('a'), user, calls('a'), results('a')], 'a =!a user a_2 =a_2'],
    ['calls without an id', [calls('', ''), results('', '')], 'call+call_2 =call+call_2'],
  ])('mends %s', ([, messages, repaired]) => {
    expect(short(repair(messages))).toBe(repaired)
  })

  test('one message object that stands twice in a history counts as two', () => {
    const message = calls('a')
    expect(short(repair([message, results('a'), message, results('a')]))).toBe('a =a a_2 =a_2')
  })

  test('of several results for a call the first counts', () => {
    const [, message] = repair([calls('a'), results(answer('a', 'first'), answer('a', 'second')), results(answer('a', 'third'))])
    expect((message as ToolMessage).content.map(textOf)).toEqual(['first'])
  })

  test('each of two calls with one id keeps its own result', () => {
    const [, first, , second] = repair([calls('a'), results(answer('a', 'one')), calls('a'), results(answer('a', 'two'))])
    expect([first, second].map((message) => textOf((message as ToolMessage).content[0] as ToolResultPart))).toEqual([
      'one',
      'two',
    ])
  })

  test('a result that is missing becomes an error that the model can act on', () => {
    const call = callsOf(calls('a'))[0]
    const [, message] = repair([calls('a')])
    const [result] = (message as ToolMessage).content
    expect(result).toEqual(call && interrupted(call))
    expect(result).toMatchObject({ callId: 'a', toolName: 'tool-a', isError: true })
    expect(textOf(result as ToolResultPart)).toMatch(/interrupted before it finished; its result is not known/)
  })

  test('leaves a well-formed history as it is, with what is odd in it', () => {
    const odd: Message[] = [
      { role: 'assistant', content: [] },
      user,
      user,
      { role: 'system', content: [] },
      calls('a', 'b'),
      results('a', 'b'),
      text,
      text,
    ]
    expect(repair(odd)).toBe(odd)
    const empty: Message[] = []
    expect(repair(empty)).toBe(empty)
  })

  test('keeps every message that needs no change', () => {
    const messages = [user, calls('a'), results('a'), text, calls('b')]
    const repaired = repair(messages)
    messages.forEach((message, i) => {
      if (message.role === 'tool') expect(repaired[i]).toEqual(message)
      else expect(repaired[i]).toBe(message)
    })
  })
})

const ids = fc.constantFrom('a', 'b', 'c', 'a_2', '')
const anyMessage: fc.Arbitrary<Message> = fc.oneof(
  fc.constantFrom<Message>(
    user,
    text,
    { role: 'assistant', content: [] },
    { role: 'system', content: [{ type: 'text', text: 's' }] },
  ),
  fc.array(ids, { maxLength: 4 }).map((list) => calls(...list)),
  fc.array(fc.tuple(ids, fc.nat()), { maxLength: 4 }).map((list) => results(...list.map(([id, n]) => answer(id, `${id}:${n}`)))),
)
const anyHistory = fc.array(anyMessage, { maxLength: 12 })

/** The rule itself, written down in the plainest way. */
function isWellFormed(messages: readonly Message[]): boolean {
  const all = messages.flatMap((message) => (message.role === 'assistant' ? callsOf(message) : [])).map(({ callId }) => callId)
  return (
    new Set(all).size === all.length &&
    !all.includes('') &&
    messages.every((message, i) => {
      const previous = messages[i - 1]
      const open = previous?.role === 'assistant' ? callsOf(previous) : []
      if (message.role === 'tool') return open.length > 0 && idsOf(message.content) === idsOf(open)
      return open.length === 0
    }) &&
    !(messages.at(-1)?.role === 'assistant' && callsOf(messages.at(-1) as AssistantMessage).length > 0)
  )
}

function idsOf(parts: readonly { readonly callId: string }[]): string {
  return JSON.stringify(parts.map(({ callId }) => callId))
}

describe('over random histories', () => {
  test('what comes out is well-formed, and a second time the same object', () => {
    fc.assert(
      fc.property(anyHistory, (messages) => {
        const repaired = repair(messages)
        expect(isWellFormed(repaired)).toBe(true)
        expect(repair(repaired)).toBe(repaired)
        expect(repaired === messages).toBe(isWellFormed(messages))
      }),
    )
  })

  test('nothing but tool messages goes, and nothing else changes but call ids', () => {
    fc.assert(
      fc.property(anyHistory, (messages) => {
        const bare = (list: readonly Message[]): unknown =>
          list
            .filter(({ role }) => role !== 'tool')
            .map((message) => ({ ...message, content: message.content.map((part) => ({ ...part, callId: undefined })) }))
        expect(bare(repair(messages))).toEqual(bare(messages))
      }),
    )
  })

  test('results keep their text: each is one that was there, or says that it is not known', () => {
    fc.assert(
      fc.property(anyHistory, (messages) => {
        const texts = (list: readonly Message[]): string[] =>
          list.flatMap((message) => (message.role === 'tool' ? message.content.map(textOf) : []))
        const before = new Set(texts(messages))
        for (const text of texts(repair(messages))) expect(before.has(text) || text.includes('not known')).toBe(true)
      }),
    )
  })

  test('inspect agrees with the rule, also when a frozen history grows, shrinks and branches', () => {
    const edit = fc.record({ keep: fc.nat(12), add: fc.array(anyMessage, { maxLength: 4 }), mend: fc.boolean() })
    fc.assert(
      fc.property(anyHistory, fc.array(edit, { maxLength: 6 }), (start, edits) => {
        let history = deepFreeze(repair([user, ...start]))
        for (const { keep, add, mend } of edits) {
          const next = [...history.slice(0, Math.max(1, keep)), ...add]
          history = deepFreeze(mend ? repair(next) : next)
          expect(inspect(history).problem === undefined).toBe(isWellFormed(history))
        }
      }),
    )
  })
})

test('of a frozen history that grows only what is new is looked at', () => {
  let looks = 0
  const counted = (message: Message): Message =>
    Object.defineProperty({ ...message }, 'content', { enumerable: false, get: () => (looks++, message.content) })
  const history = [user, calls('a'), results('a'), text].map(counted)
  inspect(deepFreeze([...history]))
  expect(looks).toBeGreaterThan(0)
  looks = 0
  expect(inspect(deepFreeze([...history, calls('b'), results('b')]))).not.toHaveProperty('problem')
  expect(looks).toBe(0)
})

describe('uniqueCallId', () => {
  test.for<[id: string, taken: string[], unique: string]>([
    ['a', [], 'a'],
    ['a', ['b'], 'a'],
    ['a', ['a'], 'a_2'],
    ['a', ['a', 'a_2'], 'a_3'],
    ['', [], 'call'],
    ['', ['call'], 'call_2'],
  ])('%j beside %j is %j', ([id, taken, unique]) => {
    expect(uniqueCallId(id, new Set(taken))).toBe(unique)
  })
})
