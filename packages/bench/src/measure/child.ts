import { fork } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

const alive = new Set<ChildProcess>()

// A child that is busy would not notice that nobody listens any more.
process.once('exit', () => {
  for (const child of alive) child.kill('SIGKILL')
})

const manifest = createRequire(import.meta.url).resolve('@koagent/bench/package.json')

/** Where this package is. */
export const packageFolder: string = dirname(manifest)

/** The built file behind one of this package's entries, also for tests, for which Node would find the source. */
export function entry(name: string): string {
  const { exports } = JSON.parse(readFileSync(manifest, 'utf8')) as { exports: Record<string, { readonly default?: string }> }
  const file = exports[`./${name}`]?.default
  if (!file) throw new Error(`no entry of the bench is named '${name}'`)
  return join(packageFolder, file)
}

/** A process that runs one of this package's entries, and ends with this one at the latest. Its stderr can be read. */
export function start(
  name: string,
  { args = [], flags = [] }: { readonly args?: readonly string[]; readonly flags?: readonly string[] } = {},
): ChildProcess {
  const child = fork(entry(name), [...args], { execArgv: [...flags], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
  alive.add(child)
  child.once('close', () => alive.delete(child))
  return child
}

/** Why a process has ended, with the end of what it said. */
export function obituary(code: number | null, signal: string | null, said: string): string {
  return [`its process ended with ${signal ?? `exit code ${code}`}`, said.trim().slice(-2_000)].filter(Boolean).join(': ')
}
