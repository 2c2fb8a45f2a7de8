import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { RunController } from '@koagent/core'
import { fakeProvider } from '@koagent/models/fake'
import { describe, expect, test } from 'vitest'
import { cli } from './cli.ts'
import { connect } from './model.ts'

const root = fileURLToPath(new URL('../../../..', import.meta.url))

/** Runs the program with the demo model behind its server, the whole way through HTTP. */
async function start(args: readonly string[], { until }: { until?: string } = {}) {
  const controller = new RunController()
  let output = ''
  const terminal = {
    write(text: string) {
      output += text
      if (until !== undefined && output.includes(until)) setTimeout(() => controller.cancel('interrupted'), 50)
    },
  }
  const exitCode = await cli(args, { environment: {}, root, controller, terminal })
  return { exitCode, output }
}

function servers(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPServerWrap').length
}

describe('npm start', () => {
  test.for([{ args: [] }, { args: ['--no-stream'] }])(
    'shows what the layers do, with nothing asked ($args)',
    async ({ args }) => {
      const before = servers()
      const { exitCode, output } = await start(args)
      expect(exitCode).toBe(0)
      expect(output).toContain('onion  timing › audit › redact › policy › paths › tools')
      expect(output.match(/ {2}✓ \d+ lines · \d+ ms/g)?.length).toBeGreaterThanOrEqual(3)
      expect(output).toContain('~ paths changes path: ../package.json → package.json')
      expect(output).toContain('~ redact changes result: SERVICE_KEY=‹API key› → SERVICE_KEY=[redacted]')
      expect(output).toMatch(/run_command rm -rf build\n {2}✗ policy denies: .+\n {2}✗ denied · \d+ ms/)
      expect(output).toMatch(
        /completed · \d turns · 5 calls: 4 ok, 1 denied · \d+ tokens\nslowest call: .+ · audit log: .+audit\.jsonl/,
      )
      expect(output).not.toContain('\u{1b}')
      await expect.poll(servers).toBe(before)
    },
  )

  test('takes a request', async () => {
    const { exitCode, output } = await start(['read', 'packages/examples/package.json'])
    expect(exitCode).toBe(0)
    expect(output).toContain('› read packages/examples/package.json')
    expect(output).toContain('"name": "@koagent/examples"')
  })

  test('Ctrl-C ends the run, its command and the server, with exit code 130', async () => {
    const before = servers()
    const { exitCode, output } = await start(['run sleep 30'], { until: 'run_command sleep 30' })
    expect(exitCode).toBe(130)
    expect(output).toMatch(/✗ cancelled · \d+ ms[^]*cancelled \(.*interrupted.*\)/)
    await expect.poll(servers).toBe(before)
  })

  test('approved commands are carried out', async () => {
    expect((await start(['run mv --version'])).output).toContain("policy denies: 'mv' overwrites files")
    expect((await start(['--approve', 'run mv --version'])).output).not.toContain('denies')
  })

  test('says what it takes', async () => {
    expect(await start(['--help'])).toMatchObject({ exitCode: 0, output: expect.stringContaining('--no-stream') })
    expect(await start(['--loud'])).toMatchObject({ exitCode: 2, output: expect.stringContaining("'--loud'") })
  })

  test('says why it cannot reach a provider', async () => {
    const terminal = { text: '', write: (text: string) => (terminal.text += text) }
    const environment = { OPENAI_BASE_URL: 'http://127.0.0.1:9', OPENAI_MODEL: 'none' }
    expect(await cli(['hello'], { environment, root, controller: new RunController(), terminal })).toBe(1)
    expect(terminal.text).toMatch(/✗ ModelError: .+127\.0\.0\.1:9/)
  })

  test.for([
    { names: ['ANTHROPIC_BASE_URL', 'ANTHROPIC_API_KEY'], at: 'url', protocol: 'messages', model: 'claude-haiku-4-5' },
    { names: ['OPENAI_BASE_URL', 'OPENAI_API_KEY'], at: 'baseURL', protocol: 'chat', model: 'gpt-5-mini' },
  ] as const)('talks to the provider that $names name', async ({ names: [url, key], at, protocol, model }) => {
    const provider = await fakeProvider([
      { toolCalls: [{ name: 'list_files', args: { path: 'docs' } }] },
      { text: 'That is all.', usage: { inputTokens: 7, outputTokens: 3 } },
    ])
    const terminal = { text: '', write: (text: string) => (terminal.text += text) }
    const environment = { [url]: provider[at], [key]: 'a-key' }
    try {
      expect(await cli(['hello'], { environment, root, controller: new RunController(), terminal })).toBe(0)
    } finally {
      await provider.close()
    }
    expect(terminal.text).toContain('That is all.')
    expect(provider.requests).toMatchObject([{ protocol, body: { model } }, {}])
    expect(JSON.stringify(provider.requests[0]?.headers)).toContain('a-key')
    expect(JSON.stringify(provider.requests[1]?.body)).toContain('write-a-middleware.md')
  })

  test.for<[environment: Record<string, string>, about: string]>([
    [{ ANTHROPIC_API_KEY: 'k' }, 'claude-haiku-4-5 at anthropic'],
    [{ ANTHROPIC_API_KEY: 'k', ANTHROPIC_MODEL: 'claude-opus-4-5' }, 'claude-opus-4-5 at anthropic'],
    [{ OPENAI_API_KEY: 'k' }, 'gpt-5-mini at openai'],
    [{ OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k' }, 'claude-haiku-4-5 at anthropic'],
    [{ OPENAI_API_KEY: 'k', ANTHROPIC_API_KEY: 'k', OPENAI_MODEL: 'gpt-5.2' }, 'gpt-5.2 at openai'],
    [{ OPENAI_BASE_URL: 'http://localhost:11434/v1', OPENAI_MODEL: 'qwen3:8b' }, 'qwen3:8b at localhost:11434'],
    [{ OPENAI_API_KEY: '', ANTHROPIC_API_KEY: '' }, 'demo-rule-planner, rules in place of a language model'],
  ])('with %j has the model %s', async ([environment, about]) => {
    const connection = await connect(environment, 0)
    await connection.close()
    expect(connection.about).toContain(about)
  })

  test('keeps its traces where git ignores them', async () => {
    expect(await readFile(`${root}/.gitignore`, 'utf8')).toMatch(/^\.koagent\/$/m)
  })
})
