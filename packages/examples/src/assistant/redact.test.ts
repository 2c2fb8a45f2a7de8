import { Agent } from '@koagent/core'
import type { ModelPart } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { describe, expect, test } from 'vitest'
import { redact, redacted } from './redact.ts'

const key = 'sk-demo-0123456789abcdef0123'

describe('redact', () => {
  test.for([
    [`KEY=${key};`, 'KEY=[redacted];'],
    [`"token": "ghp_0123456789abcdefghij"`, '"token": "[redacted]"'],
    ['DATABASE_PASSWORD=horse battery', 'DATABASE_PASSWORD=[redacted] battery'],
    ['write to <ada@example.co.uk>.', 'write to <[redacted]>.'],
    ['AKIAABCDEFGHIJKLMNOP', '[redacted]'],
  ] as const)('hides what is secret in %s', ([text, clean]) => {
    expect(redacted(text)).toBe(clean)
  })

  test.for(['pnpm@10.34.9', 'a task-force', '@koagent/core', 'const password = read()', 'passwords: none'])(
    'leaves %s as it is',
    (text) => {
      expect(redacted(text)).toBe(text)
    },
  )

  test('takes time in proportion to the text, also where it has no white space', () => {
    const text = 'a.'.repeat(500_000)
    const start = performance.now()
    expect(redacted(text)).toBe(text)
    expect(performance.now() - start).toBeLessThan(5_000)
  })

  test('hides a secret in streamed text, wherever the stream cuts it', async () => {
    const text = `The key is ${key}, or so.`
    for (let at = 0; at <= text.length; at++) {
      const parts: ModelPart[] = [
        { type: 'text_delta', text: text.slice(0, at) },
        { type: 'text_delta', text: text.slice(at) },
        { type: 'finish', reason: 'stop' },
      ]
      const run = new Agent({ model: scripted([{ parts }]) }).use(redact).stream('go')
      let streamed = ''
      for await (const piece of run.text()) streamed += piece
      expect(streamed).toBe('The key is [redacted], or so.')
      expect((await run.result).text).toBe(streamed)
    }
  })
})
