import { describe, expect, test } from 'vitest'
import { Agent, ConfigError, RunController } from '@koagent/core'
import { scripted } from './scripted.ts'
import { modes } from './testing/kit.ts'
import { stage } from './testing/stage.ts'

describe('a controller', () => {
  test.for(modes)('is for one run (%s)', async (mode) => {
    const controller = new RunController()
    const agent = new Agent({ model: scripted([{ text: 'a' }, { text: 'b' }]) })
    expect(controller.used).toBe(false)
    await agent.run('go', { controller })
    expect(controller.used).toBe(true)
    const again = async () => (mode === 'run' ? agent.run('go', { controller }) : agent.stream('go', { controller }).result)
    await expect(again()).rejects.toBeInstanceOf(ConfigError)
  })

  test.for(modes)('says whether a cancel took effect: once, and not after the end (%s)', async (mode) => {
    const controller = new RunController()
    const answers: boolean[] = []
    const twice = {
      name: 'twice',
      before_tool: () => (answers.push(controller.cancel('one'), controller.cancel('two')), undefined as never),
    }
    const run = mode === 'run' ? stage([twice]).run('go', { controller }) : stage([twice]).stream('go', { controller }).result
    await expect(run).rejects.toMatchObject({ name: 'AbortError', cause: 'one' })
    expect([...answers, controller.cancel()]).toEqual([true, false, false])
    expect(controller.signal.aborted).toBe(true)
  })

  test('has a signal that aborts with the run, also when it is asked for late', async () => {
    const controller = new RunController()
    const { signal } = controller
    controller.cancel('enough')
    expect(signal.aborted).toBe(true)
    expect(controller.signal).toBe(signal)
    expect(controller.cancelled).toBe(true)
  })

  test('is made where none is given, and is the one that hooks see', async () => {
    let seen: unknown
    const run = stage([{ name: 'm', before_run: (ctx, next) => ((seen = ctx.controller), next()) }]).stream('go')
    await run.result
    expect(seen).toBe(run.controller)
  })

  test('may be created and thrown away', () => {
    expect(new RunController().cancel()).toBe(true)
  })
})
