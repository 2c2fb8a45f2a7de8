import { Agent } from '@koagent/core'
import type { AgentEvent, Middleware } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { expectTypeOf, test } from 'vitest'
import { logging } from './logging.ts'
import type { LogLevel } from './logging.ts'

test('is a middleware that asks for no metadata', () => {
  expectTypeOf(logging()).toEqualTypeOf<Middleware>()
  expectTypeOf(new Agent({ model: scripted([]) }).use(logging())).toEqualTypeOf<Agent>()
})

test('a log function gets level, line and event, and may return anything', () => {
  logging({
    log: (level, line, event) =>
      expectTypeOf([level, line, event] as const).toEqualTypeOf<readonly [LogLevel, string, AgentEvent]>(),
  })
  logging({ log: async (_level, line) => line.length })
  // @ts-expect-error: a level has one of four names
  logging({ level: 'verbose' })
})
