import { expect, test } from 'vitest'
import {
  ConfigError,
  HookContractError,
  KoagentError,
  ModelError,
  RunCancelledError,
  SessionBusyError,
  ToolError,
} from '@koagent/core'

test.for([
  [new KoagentError('x', 'm'), 'KoagentError', 'x'],
  [new ConfigError('m'), 'ConfigError', 'config'],
  [new HookContractError('a', 'before_tool', 'm'), 'HookContractError', 'hook_contract'],
  [new ModelError('m', { retryable: true }), 'ModelError', 'model'],
  [new ModelError('m', { retryable: true, code: 'context_overflow' }), 'ModelError', 'context_overflow'],
  [new ToolError('t', 'c', 'm'), 'ToolError', 'tool'],
  [new SessionBusyError('s', 'r'), 'SessionBusyError', 'session_busy'],
  [new RunCancelledError('why'), 'AbortError', 'run_cancelled'],
] as const)('%s has a name and a code of its own', ([error, name, code]) => {
  expect(error).toBeInstanceOf(KoagentError)
  expect(error).toMatchObject({ name, code })
  expect(String(error)).toContain(`${name}: `)
})

test('a cause is kept as errors keep it: the very thing, not enumerable', () => {
  const cause = { why: 'x' }
  const error = new ConfigError('m', { cause, runId: 'r1' })
  expect(error.cause).toBe(cause)
  expect(error.runId).toBe('r1')
  expect(Object.keys(error)).not.toContain('cause')
})
