import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, allow, ask, defineTool, retry } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { execute, expectWhole, modes } from '../testing/kit.ts'

const again: Record<string, Middleware> = {
  on_error: { name: 'again', on_error: () => retry() },
  after_tool: { name: 'again', after_tool: () => retry() },
}
const yes: Middleware = {
  name: 'yes',
  on_permission: () => ask('may it?'),
  on_permission_request: () => allow(),
}

describe.for(Object.keys(again))('a call that is tried again at %s', (point) => {
  test.for(
    modes.flatMap((mode) => [
      { mode, what: 'somebody said yes to', layers: [yes], idempotent: false, executions: 1 },
      { mode, what: 'somebody said yes to, of an idempotent tool,', layers: [yes], idempotent: true, executions: 10 },
      { mode, what: 'nobody was asked about', layers: [], idempotent: false, executions: 10 },
    ]),
  )('and that $what is executed $executions times ($mode)', async ({ mode, layers, idempotent, executions }) => {
    let executed = 0
    const tool = defineTool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({}),
      idempotent,
      execute() {
        executed++
        if (point === 'on_error') throw new Error('no answer from the bank')
        return 'paid'
      },
    })
    const model = scripted([{ toolCalls: [{ name: 'pay', args: {} }] }, { text: 'ok' }])
    const outcome = await execute(mode, new Agent({ model, tools: [tool] }).use(...layers, again[point] as Middleware))
    expectWhole(outcome, outcome.result?.messages)
    expect(executed).toBe(executions)
    expect(outcome.events.filter((event) => event.type === 'retry')).toHaveLength(executions - 1)
  })
})
