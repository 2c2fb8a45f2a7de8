import type { AgentEvent, EventFields, EventType } from '@koagent/core'
import { expect, test } from 'vitest'
import { renderer } from './render.ts'

/** An event of a run that nobody ran. */
function event<T extends EventType>(type: T, fields: EventFields[T]): AgentEvent {
  return { type, seq: 0, id: '', runId: 'run', agent: 'assistant', path: [], turn: 0, ...fields } as unknown as AgentEvent
}

const begin = (callId: string): AgentEvent =>
  event('tool_call_begin', { callId, toolName: 'look', args: { at: callId }, index: 0 })
const result = (callId: string, text = 'seen'): AgentEvent =>
  event('tool_result', {
    callId,
    toolName: 'look',
    status: 'ok',
    args: {},
    content: [{ type: 'text', text }],
    isError: false,
    durationMs: 1,
  })

const draw = (...events: readonly AgentEvent[]): string => events.map(renderer({ width: 60, colours: false })).join('')

test('a call is shown as soon as those before it are done, and as a whole', () => {
  const render = renderer({ width: 60, colours: false })
  const screen = [begin('a'), begin('b'), begin('c'), result('c', 'third'), result('a', 'first'), result('b', 'second')].map(
    render,
  )
  const [a, b, c] = ['first', 'second', 'third'].map((text, i) => [
    `\n  look ${'abc'[i]}\n`,
    `  ✓ 1 line · 1 ms\n      ${text}\n`,
  ])
  expect(screen).toEqual([a?.[0], '', '', '', `${a?.[1]}${b?.[0]}`, `${b?.[1]}${c?.join('')}`])
})

test('what a tool or a model says cannot steer the terminal', () => {
  const nasty = 'red \u{1b}[31mtext\u{7}\r\u{202e}'
  const screen = draw(begin('a'), result('a', nasty), event('text_delta', { text: nasty }))
  // oxlint-disable-next-line no-control-regex
  expect(screen).not.toMatch(/[\u{0}-\u{9}\u{b}-\u{1f}\u{202e}]/u)
})

test('a change in a long text is shown where it is', () => {
  const line = 'x'.repeat(500)
  const changes = [{ field: 'result', before: `${line} secret`, after: `${line} [redacted]` }]
  const screen = draw(event('hook_applied', { callId: 'a', middleware: 'redact', point: 'after_tool', changes, durationMs: 0 }))
  expect(screen).toMatch(/^ {2}~ redact changes result: …x+ secret → …x+ \[redact.*\n$/)
  expect(screen.length).toBeLessThan(70)
})

test('a layer that acts outside of a call is named with its point', () => {
  const fields = {
    middleware: 'closed',
    point: 'before_run',
    changes: [],
    decision: 'deny',
    reason: 'closed today',
    durationMs: 0,
  }
  expect(draw(event('hook_applied', fields))).toBe('  ✗ closed at before_run denies: closed today\n')
})

test('text that a retry takes back is marked as void', () => {
  const step = { stepId: 'llm:0', attempt: 1 }
  const screen = draw(
    event('text_delta', { ...step, text: 'Well' }),
    event('step_reset', { ...step, reason: 'overloaded' }),
    event('text_delta', { ...step, text: 'Better.' }),
  )
  expect(screen).toBe('\n  Well\n  ↻ again the text above is void: overloaded\n\n  Better.')
})
