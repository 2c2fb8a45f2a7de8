import { access } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, textOf } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeRepository } from './testing/repository.ts'
import { repositoryTools } from './tools.ts'

let repository: Awaited<ReturnType<typeof makeRepository>>
beforeAll(async () => void (repository = await makeRepository()))
afterAll(() => repository.remove())

function agentThatCalls(name: string, args: Record<string, string>): Agent {
  return new Agent({
    model: scripted([{ toolCalls: [{ name, args }] }, { text: 'Done.' }]),
    tools: repositoryTools(repository.root),
  })
}

async function call(name: string, args: Record<string, string>): Promise<string> {
  const { messages } = await agentThatCalls(name, args).run('go')
  return messages.flatMap((message) => (message.role === 'tool' ? message.content.map(textOf) : [])).join('')
}

test.for([
  ['list_files', {}, 'README.md\nconfig/\nlink.txt\nsrc/'],
  ['list_files', { path: 'none' }, "there is no 'none'"],
  ['list_files', { path: 'README.md' }, "'README.md' is no folder"],
  ['read_file', { path: 'src/brew.ts' }, 'export const minutes = { green: 2, black: 4 }\n'],
  ['read_file', { path: 'src' }, "'src' is a folder"],
  ['search_files', { text: 'tea', path: 'src' }, 'src/pour.ts:3: export const wait = (tea) => minutes[tea] ?? 3'],
  ['search_files', { text: 'green', path: 'src/brew.ts' }, 'src/brew.ts:1: export const minutes = { green: 2, black: 4 }'],
  ['search_files', { text: 'coffee' }, "No file holds 'coffee'."],
  ['run_command', { command: 'echo one; echo two >&2' }, 'one\ntwo'],
  ['run_command', { command: 'echo broken; exit 3' }, 'it ended with exit code 3: broken'],
] as const)('%s with %j', async ([name, args, expected]) => {
  expect(await call(name, args)).toBe(expected)
})

test('a command gets no keys from the environment', async () => {
  process.env.SECRET_OF_THIS_TEST = 'hidden'
  expect(await call('run_command', { command: 'env' })).not.toContain('SECRET_OF_THIS_TEST')
  delete process.env.SECRET_OF_THIS_TEST
})

test('a cancelled command ends with all that it started', async () => {
  const command = '(sleep 0.5; touch late) & touch early; wait'
  const run = agentThatCalls('run_command', { command }).stream('go')
  const exists = (name: string) =>
    access(join(repository.root, name)).then(
      () => true,
      () => false,
    )
  for await (const event of run) {
    if (event.type !== 'tool_call_begin') continue
    await expect.poll(() => exists('early')).toBe(true)
    break
  }
  await new Promise((resolve) => setTimeout(resolve, 1_000))
  expect(await exists('late')).toBe(false)
})
