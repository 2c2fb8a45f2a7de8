import { describe, expect, test } from 'vitest'
import { mapText } from '@koagent/core'
import type { AssistantMessage, ToolResult } from '@koagent/core'

const shout = (text: string): string => text.toUpperCase()

describe('mapText', () => {
  test('rewrites the text parts and every string of the value of a result', () => {
    const result: ToolResult = {
      content: [
        { type: 'text', text: 'a' },
        { type: 'image', mediaType: 'image/png', data: 'aGk=' },
      ],
      isError: false,
      value: { key: 'a', list: ['b', 1, null, { deep: 'c' }] },
    }
    expect(mapText(result, shout)).toEqual({
      content: [{ type: 'text', text: 'A' }, result.content[1]],
      isError: false,
      value: { key: 'A', list: ['B', 1, null, { deep: 'C' }] },
    })
    expect(result.content[0]).toEqual({ type: 'text', text: 'a' })
  })

  test('drops the opaque data of a text that it changes, since that may repeat the words', () => {
    const cited = (text: string) => ({ type: 'text', text, providerData: { cited: text } }) as const
    const message: AssistantMessage = { role: 'assistant', content: [cited('a'), cited('B')] }
    expect(mapText(message, shout).content).toStrictEqual([{ type: 'text', text: 'A' }, cited('B')])
  })

  test('leaves the calls and the reasoning of a message alone, and adds no value', () => {
    const message: AssistantMessage = {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm' },
        { type: 'text', text: 'a' },
        { type: 'tool_call', callId: 'c', toolName: 't', args: { text: 'a' } },
      ],
    }
    expect(mapText(message, shout)).toStrictEqual({
      ...message,
      content: [message.content[0], { type: 'text', text: 'A' }, message.content[2]],
    })
  })
})
