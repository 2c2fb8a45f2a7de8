import { Agent, defineTool, RunCancelledError } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { answer, narrate } from './iterate.ts'

const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), execute: () => 'a garden' })
const script = [{ text: 'Let me see.', toolCalls: [{ name: 'look' }] }, { text: 'It is a garden.' }]

test('a run is an async iterator of events', async () => {
  const agent = new Agent({ model: scripted(script), tools: [look] })
  expect(await narrate(agent, 'What is there?')).toBe('Let me see.[look]It is a garden. (completed)')
})

test('leaving the loop cancels the run, down to its tools', async () => {
  let reason: unknown
  const wait = defineTool({
    name: 'look',
    description: 'Looks for ever.',
    input: z.object({}),
    execute: (_args, { signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject((reason = signal.reason as Error)))),
  })
  const model = scripted([{ toolCalls: [{ name: 'look' }] }, { toolCalls: [{ name: 'look' }] }])
  const slow = new Agent({ model, tools: [look] })
  expect(await narrate(slow, 'What is there?', { maxCalls: 2 })).toBe('[look][look] (cancelled)')

  const run = new Agent({ model: scripted(script), tools: [wait] }).stream('What is there?')
  for await (const event of run) {
    if (event.type !== 'tool_call_begin') continue
    await new Promise((resolve) => setTimeout(resolve))
    break
  }
  expect(reason).toBeInstanceOf(RunCancelledError)
})

test('a run that fails says so after its last event', async () => {
  const agent = new Agent({ model: scripted([{ text: 'Well, ', error: new Error('overloaded') }]) })
  expect(await narrate(agent, 'What is there?')).toBe('Well,  (failed: overloaded)')
})

test('text() is an async iterable of the answer', async () => {
  const pieces: string[] = []
  for await (const piece of answer(new Agent({ model: scripted([{ text: 'It is a garden.' }]) }), 'What is there?'))
    pieces.push(piece)
  expect(pieces.length).toBeGreaterThan(1)
  expect(pieces.join('')).toBe('It is a garden.')
})
