import { Agent } from '@koagent/core'
import type { Middleware, ToolStatus } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { expectTypeOf, test } from 'vitest'
import { timing } from './timing.ts'

test('is a middleware with a count of open timers that cannot be set', () => {
  const clock = timing()
  expectTypeOf(clock).toExtend<Middleware>()
  expectTypeOf(clock.openTimers).toEqualTypeOf<number>()
  // @ts-expect-error: it is read-only
  clock.openTimers = 0
})

test('a report gets one timing, and may return anything', () => {
  timing({
    report: ({ toolName, durationMs, status }) =>
      expectTypeOf([toolName, durationMs, status] as const).toEqualTypeOf<readonly [string, number, ToolStatus]>(),
  })
  const durations: number[] = []
  timing({ report: ({ durationMs }) => durations.push(durationMs) })
  timing({ report: async ({ durationMs }) => void durations.push(durationMs) })
  // @ts-expect-error: there is no such option
  timing({ reports: () => {} })
})

test('asks for no metadata', () => {
  const agent = new Agent({ model: scripted([]) }).use(timing())
  expectTypeOf(agent).toEqualTypeOf<Agent>()
})
