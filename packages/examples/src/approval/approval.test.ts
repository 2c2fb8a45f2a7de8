import { readFile } from 'node:fs/promises'
import { textOf } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { expect, test } from 'vitest'
import { janitor } from './approval.ts'

const modes = ['run', 'stream'] as const

async function clean(mode: (typeof modes)[number], metadata: { approved?: boolean }): Promise<string> {
  const model = scripted([{ toolCalls: [{ name: 'shell', args: { command: 'rm -rf build' } }] }, { text: 'Done.' }])
  const agent = janitor(model)
  const { messages } = await (mode === 'run'
    ? agent.run('Clean up', { metadata })
    : agent.stream('Clean up', { metadata }).result)
  return messages.flatMap((message) => (message.role === 'tool' ? message.content.map(textOf) : [])).join('')
}

test.for(modes)('a dangerous tool is denied until metadata.approved (%s)', async (mode) => {
  expect(await clean(mode, {})).toBe('Permission denied: a person has to approve it first')
  expect(await clean(mode, { approved: false })).toMatch(/^Permission denied/)
  expect(await clean(mode, { approved: true })).toBe('(pretends to run) rm -rf build')
})

test('takes less than 30 lines of code', async () => {
  const source = await readFile(new URL('approval.ts', import.meta.url), 'utf8')
  expect(source.split('\n').filter((line) => line.trim() !== '').length).toBeLessThan(30)
})
