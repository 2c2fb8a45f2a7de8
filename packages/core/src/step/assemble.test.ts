import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { AssistantPart } from '@koagent/core'
import { Assembler, parseArgs } from './assemble.ts'
import { ask } from '../testing/ask.ts'
import { modes } from '../testing/kit.ts'

const author = { provider: 'p', model: 'm' }

function assembled(act: (into: Assembler) => void, taken: readonly string[] = []): Assembler {
  const into = new Assembler({ toolName: (name) => name, taken: new Set(taken), prefix: 'call_0_' })
  act(into)
  return into
}

const content = (act: (into: Assembler) => void, taken?: readonly string[]): readonly AssistantPart[] =>
  assembled((into) => (act(into), into.finish({ type: 'finish', reason: 'stop' })), taken).step(author).message.content

const call = (callId: string, more: object = {}) => ({ type: 'tool_call', callId, toolName: 't', args: '{}', ...more }) as const

describe('a message', () => {
  test('keeps the order of its parts, with neighbouring deltas joined', () => {
    const parts = content((into) => {
      into.reasoning('I ', '1')
      into.reasoning('think', '1')
      into.reasoningEnd('1', 'signature')
      into.text('so ')
      into.text('it is')
      into.call(call('a'))
      into.text('and')
      into.reasoning('more', '2')
    })
    expect(parts).toEqual([
      { type: 'reasoning', text: 'I think', blockId: '1', providerData: 'signature' },
      { type: 'text', text: 'so it is' },
      { type: 'tool_call', callId: 'a', toolName: 't', args: {} },
      { type: 'text', text: 'and' },
      { type: 'reasoning', text: 'more', blockId: '2' },
    ])
  })

  test('gives each block of reasoning its own data, also where blocks interleave or have no text', () => {
    const parts = content((into) => {
      into.reasoning('a', '1')
      into.reasoning('b', '2')
      into.reasoningEnd('2', 'second')
      into.reasoningEnd('1', 'first')
      into.reasoningEnd('3', 'redacted')
      into.reasoningEnd(undefined, undefined)
    })
    expect(parts).toEqual([
      { type: 'reasoning', text: 'a', blockId: '1', providerData: 'first' },
      { type: 'reasoning', text: 'b', blockId: '2', providerData: 'second' },
      { type: 'reasoning', text: '', blockId: '3', providerData: 'redacted' },
    ])
  })

  test('gives data without words its own place, also after reasoning that ended without any', () => {
    const parts = content((into) => {
      into.reasoning('a', undefined)
      into.reasoningEnd(undefined, undefined)
      into.text('so')
      into.textEnd(undefined)
      into.reasoningEnd(undefined, 'redacted')
    })
    expect(parts).toEqual([
      { type: 'reasoning', text: 'a' },
      { type: 'text', text: 'so' },
      { type: 'reasoning', text: '', providerData: 'redacted' },
    ])
  })

  test('does not go on with a block that was signed', () => {
    const parts = content((into) => {
      into.reasoning('a', undefined)
      into.reasoningEnd(undefined, 'x')
      into.reasoning('b', undefined)
    })
    expect(parts).toMatchObject([{ text: 'a', providerData: 'x' }, { text: 'b' }])
  })

  test('keeps blocks of text apart that ended, each with its own data', () => {
    const parts = content((into) => {
      into.textEnd(undefined)
      into.text('a')
      into.textEnd(undefined)
      into.text('b')
      into.textEnd({ cited: 1 })
      into.text('c')
      into.reasoning('d', undefined)
      into.textEnd(undefined)
      into.reasoning('e', undefined)
      into.reasoningEnd(undefined, undefined)
      into.reasoning('f', undefined)
      into.textEnd('alone')
    })
    expect(parts).toEqual([
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b', providerData: { cited: 1 } },
      { type: 'text', text: 'c' },
      { type: 'reasoning', text: 'de' },
      { type: 'reasoning', text: 'f' },
      { type: 'text', text: '', providerData: 'alone' },
    ])
  })

  test('is frozen, tells its author and carries opaque data of the whole answer', () => {
    const step = assembled((into) => {
      into.text('hi')
      into.finish({ type: 'finish', reason: 'other', rawReason: 'odd', providerData: { id: 'r' } })
    }).step(author)
    expect(step).toMatchObject({
      finishReason: 'other',
      rawFinishReason: 'odd',
      message: { role: 'assistant', provider: 'p', model: 'm', providerData: { id: 'r' } },
    })
    expect(Object.isFrozen(step.message.content[0])).toBe(true)
  })
})

describe('call ids', () => {
  const idsOf = (ids: readonly string[], taken?: readonly string[]): readonly string[] =>
    content((into) => ids.forEach((id) => into.call(call(id))), taken).map((part) => (part as { callId: string }).callId)

  test('stay where they are unique', () => expect(idsOf(['a', 'b'])).toEqual(['a', 'b']))
  test('that are absent are made by position', () => expect(idsOf(['', ''])).toEqual(['call_0_0', 'call_0_1']))
  test('that the session has get a suffix', () => expect(idsOf(['a', ''], ['a', 'call_0_1'])).toEqual(['a_2', 'call_0_1_2']))
  test('that a step repeats get a suffix', () => expect(idsOf(['a', 'a', 'a'])).toEqual(['a', 'a_2', 'a_3']))

  test('are the same for a call and its deltas', () => {
    const into = assembled(() => {}, ['a'])
    expect(into.announce('a')).toBe('a_2')
    expect(into.announce('a')).toBe('a_2')
    expect(into.call(call('a')).callId).toBe('a_2')
    expect(into.announce('a')).toBe('a_3')
  })

  test('are unique and not empty, whatever a provider sends', () => {
    const id = fc.constantFrom('', 'a', 'a_2', 'call_0_0', 'call_0_1', 'call')
    fc.assert(
      fc.property(fc.array(id, { maxLength: 8 }), fc.array(id), (ids, taken) => {
        const made = idsOf(ids, taken)
        expect(new Set([...made, ...taken]).size).toBe(made.length + new Set(taken).size)
        expect(made.every((name) => name !== '')).toBe(true)
      }),
    )
  })

  test.for(modes)('are unique in a session, also after a layer has changed it (%s)', async (mode) => {
    const toolCalls = [{ name: 'work', id: 'same' }]
    const { result, messages } = await ask(mode, [{ toolCalls }, { toolCalls }, { text: 'done' }], {
      before_llm_step: async (ctx, next) => {
        if (ctx.turn === 1)
          await ctx.session.append([
            { role: 'assistant', content: [{ type: 'tool_call', callId: 'same_2', toolName: 'work', args: {} }] },
            { role: 'tool', content: [{ type: 'tool_result', callId: 'same_2', toolName: 'work', content: [], isError: false }] },
          ])
        return next()
      },
    })
    expect(result?.status).toBe('completed')
    const ids = messages.flatMap(({ role, content: parts }) => (role === 'tool' ? parts.map(({ callId }) => callId) : []))
    expect(ids).toEqual(['same', 'same_2', 'same_3'])
  })
})

describe('arguments', () => {
  test.for<[string, unknown, object]>([
    ['JSON', '{"a":1}', { args: { a: 1 } }],
    ['an object', { a: 1 }, { args: { a: 1 } }],
    ['nothing', undefined, { args: {} }],
    ['null', null, { args: {} }],
    ['blank', ' \n', { args: {} }],
    ['cut off', '{"a":', { args: {}, rawArgs: '{"a":' }],
    ['a list', '[1]', { args: {}, rawArgs: '[1]' }],
    ['a list that is none of text', [1], { args: {}, rawArgs: '[1]' }],
    ['a string', '"a"', { args: {}, rawArgs: '"a"' }],
    ['null as text', 'null', { args: {}, rawArgs: 'null' }],
  ])('that are %s', ([, args, parsed]) => expect(parseArgs(args)).toEqual(parsed))

  test('given as an object are a copy that the provider cannot change any more', () => {
    const given = { list: [1] }
    const { args } = parseArgs(given)
    given.list.push(2)
    expect(args).toEqual({ list: [1] })
  })
})

describe('what is kept of a step that ended early', () => {
  test('is complete: no unfinished call, no unsigned reasoning', () => {
    const partial = assembled((into) => {
      into.reasoning('unsigned', undefined)
      into.text('text')
      into.call(call('a'))
      into.announce('b')
    }).partial(author)
    expect(partial).toMatchObject({ provider: 'p', content: [{ text: 'text' }, { callId: 'a' }] })
    expect(partial?.content).toHaveLength(2)
  })

  test('is nothing where nothing was complete', () => {
    expect(assembled((into) => into.reasoning('unsigned', undefined)).partial(author)).toBeUndefined()
    expect(assembled(() => {}).partial(author)).toBeUndefined()
  })
})
