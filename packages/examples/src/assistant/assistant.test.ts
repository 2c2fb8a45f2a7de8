import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { RunController } from '@koagent/core'
import type { AgentEvent } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import type { Script } from '@koagent/core/scripted'
import type { ToolTiming } from '@koagent/middleware'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { assistant, follow, layers } from './assistant.ts'
import { renderer } from './render.ts'
import { makeRepository } from './testing/repository.ts'

let repository: Awaited<ReturnType<typeof makeRepository>>
beforeAll(async () => void (repository = await makeRepository()))
afterAll(() => repository.remove())

const tour: readonly Script[] = [
  {
    text: 'I will look around.',
    toolCalls: [
      { name: 'list_files', args: { path: '.' } },
      { name: 'read_file', args: { path: '../../README.md' } },
      { name: 'read_file', args: { path: 'config/shop.env' } },
      { name: 'search_files', args: { text: 'minutes', path: 'src' } },
      { name: 'run_command', args: { command: 'rm -rf src' } },
      { name: 'read_file', args: { path: 'link.txt' } },
      { name: 'read_file', args: { path: 'src/steep.ts' } },
    ],
  },
  {
    toolCalls: [
      { name: 'run_command', args: { command: 'echo "tea@example.com"' } },
      { name: 'read_file', args: '{"path":' },
    ],
  },
  {
    text: 'Green tea takes 2 minutes.\nThe key is sk-demo-0123456789abcdef0123.',
    usage: { inputTokens: 900, outputTokens: 100 },
  },
]

interface Performance {
  readonly status: string
  readonly screen: string
  readonly events: readonly AgentEvent[]
  readonly timings: readonly ToolTiming[]
}

async function perform(
  script: readonly Script[],
  options: { stream?: boolean; approved?: boolean; colours?: boolean } = {},
): Promise<Performance> {
  const { stream = true, approved = false, colours = false } = options
  const render = renderer({ width: 80, colours })
  const events: AgentEvent[] = []
  const timings: ToolTiming[] = []
  let screen = ''
  const agent = assistant({
    model: scripted(script),
    root: repository.root,
    auditFile: join(repository.root, '..', 'audit.jsonl'),
    report: (timing) => void timings.push(timing),
  })
  const show = (event: AgentEvent): void => {
    events.push(event)
    screen += render(event)
  }
  const status = await follow(agent, 'How long does green tea take?', { stream, approved, controller: new RunController(), show })
  return { status, screen: screen.replaceAll(/\d+ ms/g, '… ms').replaceAll(repository.root, '/tea'), events, timings }
}

/** What the layers did, call by call: calls run side by side, so that their order among each other may differ. */
function trace(events: readonly AgentEvent[]) {
  return events
    .filter((event) => event.type === 'hook_applied')
    .map(({ middleware, point, callId, changes, decision, reason }) => ({ middleware, point, callId, changes, decision, reason }))
    .toSorted((a, b) => `${a.callId}`.localeCompare(`${b.callId}`))
}

describe('the assistant', () => {
  test.for([true, false])('shows each call with what its layers did (streaming: %s)', async (stream) => {
    const { status, screen } = await perform(tour, { stream })
    expect(status).toBe('completed')
    await expect(screen).toMatchFileSnapshot('./testing/screen.txt')
  })

  test('has the same hook trace with and without a stream', async () => {
    const [streamed, whole] = [await perform(tour), await perform(tour, { stream: false })]
    expect(trace(streamed.events).length).toBeGreaterThan(3)
    expect(trace(whole.events)).toEqual(trace(streamed.events))
  })

  test('times each call once', async () => {
    const { timings, events } = await perform(tour)
    const calls = events.filter((event) => event.type === 'tool_call_begin')
    expect(new Set(timings.map(({ callId }) => callId))).toEqual(new Set(calls.map(({ callId }) => callId)))
    expect(timings).toHaveLength(calls.length)
  })

  test('shows colours only where it is told to, and the same text', async () => {
    const [plain, painted] = [await perform(tour), await perform(tour, { colours: true })]
    expect(plain.screen).not.toContain('\u{1b}')
    // oxlint-disable-next-line no-control-regex
    expect(painted.screen.replaceAll(/\u{1b}\[\d+m/gu, '')).toBe(plain.screen)
  })

  test('carries a dangerous command out when it was approved', async () => {
    const { screen } = await perform(
      [{ toolCalls: [{ name: 'run_command', args: { command: 'rm -f nothing.txt' } }] }, { text: 'Gone.' }],
      { approved: true },
    )
    expect(screen).toContain('run_command rm -f nothing.txt\n  ✓ 1 line · … ms\n      (no output)\n')
  })

  test('lets no secret out: neither to the screen, nor to the audit log, nor to the model', async () => {
    let seen = ''
    const ask: Script = ({ messages }) => ((seen = JSON.stringify(messages)), { text: 'Done.' })
    const { screen } = await perform([...tour.slice(0, 1), ask])
    const audit = await readFile(join(repository.root, '..', 'audit.jsonl'), 'utf8')
    for (const place of [seen, screen, audit]) {
      expect(place).toContain('[redacted]')
      expect(place).not.toMatch(/sk-demo-0123|tea@example/)
    }
  })

  test('writes an audit log of JSON lines', async () => {
    const { events } = await perform(tour)
    const lines = (await readFile(join(repository.root, '..', 'audit.jsonl'), 'utf8')).trimEnd().split('\n')
    const records = lines.map((line) => JSON.parse(line) as AgentEvent).filter(({ runId }) => runId === events[0]?.runId)
    expect(records[0]).toMatchObject({ type: 'run_begin', at: expect.stringMatching(/^\d{4}-/) })
    expect(records.filter(({ type }) => type === 'tool_result')).toHaveLength(9)
    expect(records.at(-1)).toMatchObject({ type: 'run_end', status: 'completed' })
  })

  test('says what failed', async () => {
    const { status, screen } = await perform([{ text: 'Well, ', error: new Error('the server is gone') }])
    expect(status).toBe('failed')
    expect(screen).toMatch(
      / {2}Well, \n\n✗ Error: the server is gone\n\nfailed \(the server is gone\) · 1 turn · 0 calls · 0 tokens\n$/,
    )
  })

  test('has its layers in this order', () => {
    const options = { root: repository.root, auditFile: 'audit.jsonl', report() {} }
    expect(layers(options).map(({ name }) => name)).toEqual(['timing', 'audit', 'redact', 'policy', 'paths'])
  })
})
