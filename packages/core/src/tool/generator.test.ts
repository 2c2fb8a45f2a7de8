import { expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, defineTool, RunController } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { execute, expectWhole, modes } from '../testing/kit.ts'

test.for(modes)('a generator that a tool returns after it cancelled the run never begins (%s)', async (mode) => {
  const controller = new RunController()
  let begun = 0
  const tool = defineTool({
    name: 'count',
    description: 'Counts.',
    input: z.object({}),
    execute() {
      controller.cancel('enough')
      return (async function* () {
        begun++
        yield 1
        return 'done'
      })()
    },
  })
  const model = scripted([{ toolCalls: [{ name: 'count', args: {} }] }])
  const outcome = await execute(mode, new Agent({ model, tools: [tool] }), 'go', { controller })
  await new Promise((resolve) => setTimeout(resolve))
  expectWhole(outcome)
  expect(outcome.error).toMatchObject({ name: 'AbortError', result: { status: 'cancelled' } })
  expect(begun).toBe(0)
})
