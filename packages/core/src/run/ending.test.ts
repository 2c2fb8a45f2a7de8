import { expect, test } from 'vitest'
import { Agent, continue_run, stop } from '@koagent/core'
import type { Logger } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { execute, modes } from '../testing/kit.ts'

const gone = (): never => {
  throw new Error('the logger is gone')
}
const logger: Logger = { debug: gone, info: gone, warn: gone, error: gone }

test.for(modes)('a logger that fails does not fail the run that a layer under log did not fail (%s)', async (mode) => {
  const agent = new Agent({ model: scripted([{ text: 'hi' }]), logger }).use({
    name: 'broken',
    errors: 'log',
    before_turn: () => {
      throw new Error('broken')
    },
  })
  const { result, error } = await execute(mode, agent)
  expect(error).toBeUndefined()
  expect(result).toMatchObject({ status: 'completed', text: 'hi' })
})

test.for(modes)(
  'a stop at on_stop lets the run end as completed, with its reason, whoever wanted to go on (%s)',
  async (mode) => {
    const agent = new Agent({ model: scripted([{ text: 'hi' }]) }).use(
      { name: 'more', on_stop: () => continue_run('more') },
      { name: 'enough', on_stop: () => stop('that will do') },
    )
    const { result, events } = await execute(mode, agent)
    expect(result).toMatchObject({ status: 'completed', reason: 'that will do', text: 'hi' })
    expect(events.at(-1)).toMatchObject({ type: 'run_end', status: 'completed', reason: 'that will do' })
  },
)
