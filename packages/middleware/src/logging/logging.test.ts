import { ConfigError, retry } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { exits, modes, take } from '../testing/exits.ts'
import type { Exit } from '../testing/exits.ts'
import { logging } from './logging.ts'
import type { LogLevel } from './logging.ts'

/** The line of a run, without its speaker and its times. */
function plain(line: unknown): string {
  return String(line)
    .replace(/^\[agent [0-9a-f]{8}\] /, '')
    .replace(/\d+ ms/, '… ms')
}

/** The line that says how the call ended, for every exit with a call. */
const outcomes: Readonly<Record<string, readonly [LogLevel, string]>> = {
  ok: ['info', 'work {"text":"hello"} ok in … ms'],
  'thrown by the tool': ['warn', 'work {"text":"hello"} error in … ms: no such file'],
  'timed out': ['warn', `work {"text":"hello"} error in … ms: Tool 'work' timed out after 5 ms`],
  denied: ['warn', 'work {"text":"hello"} denied by rule in … ms: Permission denied: not here'],
  blocked: ['warn', 'work {"text":"hello"} blocked by guard in … ms: Blocked by hook: not now'],
  stopped: ['warn', 'work {"text":"hello"} blocked by budget in … ms: enough'],
  replaced: ['info', 'work {"text":"hello"} replaced by cache in … ms'],
}

describe.for(modes)('logging (%s)', (mode) => {
  test.for(Object.entries(outcomes))('says in one line that a call was %s', async ([name, expected]) => {
    const { logged } = await take(exitNamed(name), mode, logging())
    expect(logged.map(([level, line]) => [level, plain(line)])).toContainEqual(expected)
  })

  test.for(exits)('tells the end of a run whose call is $name, once and last', async (exit) => {
    const lines: string[] = []
    await take(exit, mode, logging({ log: (_level, line) => lines.push(plain(line)) }))
    const ends = lines.filter((line) => /^run (?!failed:)/.test(line))
    expect(ends).toHaveLength(1)
    expect(lines.at(-1)).toBe(ends[0])
    expect(ends[0]).toMatch(
      new RegExp(`^run ${exit.ends ?? 'completed'}( \\(.+\\))? after \\d turns?, \\d+ tokens in, \\d+ out$`),
    )
  })

  test('tells the whole run at level debug, in order', async () => {
    const { logged } = await take(exitNamed('ok'), mode, logging({ level: 'debug' }))
    expect(logged.map(([level, line]) => [level, plain(line)])).toEqual([
      ['debug', 'run begins: go'],
      ['debug', 'step 0 completed (tool_calls), 0 tokens in, 0 out'],
      ['debug', 'work {"text":"hello"}'],
      ['info', 'work {"text":"hello"} ok in … ms'],
      ['debug', 'step 1 completed (stop), 0 tokens in, 0 out'],
      ['info', 'run completed after 2 turns, 0 tokens in, 0 out'],
    ])
  })

  test('tells what failed, and where', async () => {
    const log = async (): Promise<string[]> => {
      const lines: string[] = []
      await take(exitNamed('withheld'), mode, logging({ level: 'error', log: (_level, line) => lines.push(plain(line)) }))
      return lines
    }
    expect(await log()).toEqual([
      'middleware redact failed at after_tool: Error: cannot redact',
      expect.stringMatching(/^work \{"text":"hello"\} withheld in … ms: The call was carried out/),
      'run failed: Error: cannot redact',
    ])
  })

  test('tells of attempts', async () => {
    let attempts = 0
    const again: Middleware = {
      name: 'again',
      after_llm_step: (_ctx, next) => (attempts++ ? next() : retry({ reason: 'too short' })),
    }
    const exit: Exit = { name: 'ok', script: [{ text: 'Hm.' }, { text: 'Here is more.' }], layer: again }
    const { logged } = await take(exit, mode, logging({ level: 'warn' }))
    expect(logged.map(([level, line]) => [level, plain(line)])).toEqual([['warn', 'model is tried again (attempt 2): too short']])
  })

  test('writes no line for what is below its level', async () => {
    const { logged } = await take(exitNamed('ok'), mode, logging({ level: 'warn' }))
    expect(logged).toEqual([])
  })

  test('shows what sanitizers left, whatever the order of layers', async () => {
    const mask: Middleware = { name: 'mask', sanitize: (text) => text.replaceAll('hello', '***') }
    const { logged } = await take({ ...exitNamed('ok'), layer: mask }, mode, logging({ level: 'debug' }))
    const lines = logged.map(([, line]) => plain(line))
    expect(lines).toContain('work {"text":"***"} ok in … ms')
    expect(lines.join()).not.toContain('hello')
  })

  test('keeps contents in their line, and cuts long ones', async () => {
    const reason = `first\nsecond \u{1b}[31mred\u{202e} ${'x'.repeat(500)}`
    const guard: Middleware = { name: 'guard', before_tool: () => ({ kind: 'deny', reason }) }
    const { logged } = await take({ name: 'blocked', layer: guard }, mode, logging({ maxChars: 60 }))
    const [line = ''] = logged.map(([, each]) => plain(each))
    expect(line).toMatch(/: Blocked by hook: first second \u{fffd}\[31mred\u{fffd} x+…$/u)
    expect(line.length).toBeLessThan(130)
  })

  test('a failing log is logged, and the run completes', async () => {
    const log = async (): Promise<never> => Promise.reject(new Error('disk full'))
    const { ended, logged } = await take(exitNamed('ok'), mode, logging({ log }))
    expect(ended).toBe('completed')
    expect(logged[0]).toEqual(['error', "middleware 'logging' failed at on_event:", new Error('disk full')])
  })
})

describe('logging', () => {
  test('gives a log function the level, the line and the event', async () => {
    const calls: unknown[] = []
    const { result } = await take(
      exitNamed('ok'),
      'run',
      logging({ log: (level, line, event) => calls.push([level, line, event.type]) }),
    )
    const speaker = `[agent ${result?.runId.slice(0, 8)}]`
    expect(calls.at(-1)).toEqual(['info', `${speaker} run completed after 2 turns, 0 tokens in, 0 out`, 'run_end'])
  })

  test.for([
    [{ level: 'verbose' }, "logging: level is 'verbose': use 'debug', 'info', 'warn', 'error'"],
    [{ maxChars: 0 }, 'logging: maxChars is 0, and must be a number above 0'],
  ] as const)('refuses %j', ([options, message]) => {
    expect(() => logging(options as object)).toThrow(new ConfigError(message))
  })
})

function exitNamed(name: string): Exit {
  const exit = exits.find((each) => each.name === name)
  if (!exit) throw new Error(`no exit is named '${name}'`)
  return exit
}
