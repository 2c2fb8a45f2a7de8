import { Agent, defineTool } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { paths } from './paths.ts'
import { makeRepository } from './testing/repository.ts'

let repository: Awaited<ReturnType<typeof makeRepository>>
beforeAll(async () => void (repository = await makeRepository()))
afterAll(() => repository.remove())

/** The path that the tool gets when the model asks for this one; undefined when the call is blocked. */
async function taken(path: string): Promise<string | undefined> {
  let got: string | undefined
  const open = defineTool({
    name: 'open',
    description: 'Opens a file.',
    input: z.object({ path: z.string() }),
    execute: (args) => void (got = args.path),
  })
  const model = scripted([{ toolCalls: [{ name: 'open', args: { path } }] }, { text: 'Done.' }])
  await new Agent({ model, tools: [open] }).use(paths(repository.root)).run('open it')
  return got
}

test.for([
  ['../../etc/passwd', 'etc/passwd'],
  ['/etc/passwd', 'etc/passwd'],
  ['src/../../README.md', 'README.md'],
  ['..', '.'],
  ['/', '.'],
] as const)('%s, which is outside, becomes %s', async ([path, inside]) => {
  expect(await taken(path)).toBe(inside)
})

test.for(['README.md', 'src', '.', 'src/../README.md', './src/brew.ts', 'src/none.ts', '..notes/x'])(
  '%s stays as it is',
  async (path) => {
    expect(await taken(path)).toBe(path)
  },
)

test('an absolute path inside stays as it is', async () => {
  const path = `${repository.root}/README.md`
  expect(await taken(path)).toBe(path)
})

test('a link that leads out is blocked', async () => {
  expect(await taken('link.txt')).toBeUndefined()
})
