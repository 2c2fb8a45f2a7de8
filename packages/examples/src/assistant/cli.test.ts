import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { RunController } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { cli } from './cli.ts'

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

  test('keeps its traces where git ignores them', async () => {
    expect(await readFile(`${root}/.gitignore`, 'utf8')).toMatch(/^\.koagent\/$/m)
  })
})
