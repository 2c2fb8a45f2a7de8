import { defineTool } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { houseAgent } from './compose.ts'

const tools = ['read_note', 'delete_note'].map((name) =>
  defineTool({ name, description: 'Works on the note.', input: z.object({}), execute: () => `${name} ran` }),
)
const script = [{ toolCalls: [{ name: 'read_note' }, { name: 'delete_note' }] }, { text: 'Done.' }]

async function run(metadata: { hurry?: boolean }) {
  const model = scripted(script)
  const lines: unknown[] = []
  const line = (text: unknown): void => void lines.push(text)
  const logger = { debug: line, info: line, warn: line, error: line }
  await houseAgent({ model, tools, logger }).run('Tidy up', { metadata })
  return { model, lines: lines.join('\n') }
}

test('a stack composed in code applies each layer where it should', async () => {
  const { model, lines } = await run({})
  expect(JSON.stringify(model.calls[1]?.messages)).toContain('read_note ran')
  expect(lines).toContain('delete_note {} denied by read-only')
  expect(lines).toContain('read_note ok in')
})

test('a layer under when() is there when its predicate says so', async () => {
  const asked = async (metadata: { hurry?: boolean }) => JSON.stringify((await run(metadata)).model.calls[0]?.messages)
  expect(await asked({ hurry: true })).toContain('Answer in one sentence.')
  expect(await asked({})).not.toContain('Answer in one sentence.')
})
