import { mkdir, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { parseArgs } from 'node:util'
import type { RunController, RunStatus } from '@koagent/core'
import type { ToolTiming } from '@koagent/middleware'
import { assistant, follow, layers } from './assistant.ts'
import { connect } from './model.ts'
import type { Connection, Environment } from './model.ts'
import { renderer } from './render.ts'
import { painter } from './text.ts'

const defaultRequest =
  'List the files in packages, read ../package.json, read packages/examples/src/assistant/fixtures/service.env, ' +
  'search packages/core/src for "koa-compose" and run rm -rf build'

const usage = `An assistant for this repository, with koagent's middleware around each of its steps.

  npm start                      a request that shows what the layers do
  npm start -- "your request"    such as "search docs for cancel"
  npm start -- --no-stream       the same, without streaming: the layers do the same
  npm start -- --approve         say yes to dangerous commands (they are executed then)

It talks to a small demo model that is built in. For a real one set ANTHROPIC_API_KEY or OPENAI_API_KEY; ANTHROPIC_MODEL, OPENAI_MODEL,
ANTHROPIC_BASE_URL and OPENAI_BASE_URL choose which one and where.
`

/** Where the program runs. */
export interface Surroundings {
  readonly environment: Environment
  /** The repository. */
  readonly root: string
  readonly controller: RunController
  readonly terminal: { readonly isTTY?: boolean; readonly columns?: number; write(text: string): unknown }
}

/** The program. Resolves to its exit code, and leaves nothing behind that would keep the process alive. */
export async function cli(args: readonly string[], { environment, root, controller, terminal }: Surroundings): Promise<number> {
  const asked = read(args)
  if ('problem' in asked) {
    terminal.write(`${asked.problem}\n\n${usage}`)
    return 2
  }
  if (asked.help) {
    terminal.write(usage)
    return 0
  }
  const isTTY = terminal.isTTY === true
  const colours = isTTY && !environment.NO_COLOR
  const paint = painter(colours)
  const write = (text: string): void => void (text && terminal.write(text))
  let connection: Connection
  try {
    connection = await connect(environment, isTTY ? 20 : 0)
  } catch (error) {
    write(`${paint.red('✗')} ${error instanceof Error ? error.message : String(error)}\n`)
    return 1
  }
  try {
    const auditFile = await auditFileIn(root)
    const timings: ToolTiming[] = []
    const options = { root, auditFile, report: (timing: ToolTiming) => void timings.push(timing) }
    const onion = [...layers(options).map(({ name }) => name), 'tools'].join(' › ')
    write(`\n${paint.bold('koagent')} ${paint.dim('assistant')}\n  model  ${connection.about}\n  onion  ${onion}\n`)

    const render = renderer({ width: Math.max(40, terminal.columns || 100), colours })
    const agent = assistant({ ...options, model: connection.model })
    const { request, stream, approved } = asked
    const status = await follow(agent, request, { stream, approved, controller, show: (event) => write(render(event)) })

    const slowest = timings.toSorted((a, b) => b.durationMs - a.durationMs)[0]
    const facts = [
      ...(slowest ? [`slowest call: ${slowest.toolName}, ${slowest.durationMs} ms`] : []),
      `audit log: ${fromHere(auditFile)}`,
    ]
    write(`${paint.dim(facts.join(' · '))}\n\n`)
    return exitCodeOf(status)
  } finally {
    await connection.close()
  }
}

interface Asked {
  readonly request: string
  readonly stream: boolean
  readonly approved: boolean
  readonly help: boolean
}

function read(args: readonly string[]): Asked | { readonly problem: string } {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        'no-stream': { type: 'boolean', default: false },
        approve: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
    const request = positionals.join(' ').trim() || defaultRequest
    return { request, stream: !values['no-stream'], approved: values.approve, help: values.help }
  } catch (error) {
    return { problem: (error as Error).message }
  }
}

/** In the repository, where git ignores it; elsewhere when the repository cannot be written. */
async function auditFileIn(root: string): Promise<string> {
  try {
    const folder = join(root, '.koagent')
    await mkdir(folder, { recursive: true })
    return join(folder, 'audit.jsonl')
  } catch {
    return join(await mkdtemp(join(tmpdir(), 'koagent-')), 'audit.jsonl')
  }
}

function fromHere(file: string): string {
  const way = relative(process.cwd(), file)
  return way.startsWith('..') ? file : way
}

function exitCodeOf(status: RunStatus): number {
  if (status === 'cancelled') return 130
  return status === 'completed' || status === 'stopped' ? 0 : 1
}
