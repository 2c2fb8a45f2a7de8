// Installs what a command uses, when it is missing or when the lockfile or a manifest has changed since.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run, shim } from './process.mjs'

const stamp = 'node_modules/.koagent.json'
const self = fileURLToPath(import.meta.url)

/** What each scope leaves out. The bench brings hundreds of packages, which nobody needs who only uses or changes the others. */
const without = { packages: ['@koagent/gate', '@koagent/bench'], bench: ['@koagent/gate'], everything: [] }

/**
 * Afterwards pnpm and all installed tools are on the path.
 *
 * @param {keyof typeof without} scope
 */
export async function install(scope) {
  if (!upToDate(scope)) {
    console.error('Installing dependencies …')
    const { packageManager } = JSON.parse(readFileSync('package.json', 'utf8'))
    // Inside npx the pinned pnpm is on the path; the second half of this file runs there and notes where that is.
    const status = await run('npx', ['-y', '-p', packageManager, 'node', self, scope], {
      ...shim,
      stdio: ['ignore', process.stderr, process.stderr],
      env: { ...process.env, npm_config_update_notifier: 'false' },
    })
    if (status !== 0) process.exit(status)
  }
  const bins = ['tools/gate/node_modules/.bin', 'node_modules/.bin'].map((folder) => resolve(folder))
  process.env.PATH = [...bins, readStamp().pnpm, process.env.PATH].join(delimiter)
  process.env.TURBO_TELEMETRY_DISABLED = '1'
}

function upToDate(scope) {
  const last = readStamp()
  return (
    last.hash === manifestsHash() && without[last.scope]?.every((name) => without[scope].includes(name)) && holdsPnpm(last.pnpm)
  )
}

function readStamp() {
  return existsSync(stamp) ? JSON.parse(readFileSync(stamp, 'utf8')) : {}
}

function manifestsHash() {
  const hash = createHash('sha256')
  const manifests = ['packages', 'tools'].flatMap((folder) => readdirSync(folder).map((name) => `${folder}/${name}/package.json`))
  for (const file of ['package.json', 'pnpm-workspace.yaml', 'pnpm-lock.yaml', ...manifests.toSorted()]) {
    if (existsSync(file)) hash.update(file).update(readFileSync(file))
  }
  return hash.digest('hex')
}

function holdsPnpm(folder) {
  return existsSync(join(folder, 'pnpm')) || existsSync(join(folder, 'pnpm.cmd'))
}

if (process.argv[1] === self) {
  const [scope] = process.argv.slice(2)
  const filter = without[scope].map((name) => `--filter=!${name}`)
  const status = await run('pnpm', ['install', '--frozen-lockfile', '--loglevel=warn', ...filter], shim)
  if (status !== 0) process.exit(status)
  writeFileSync(stamp, JSON.stringify({ hash: manifestsHash(), scope, pnpm: process.env.PATH.split(delimiter).find(holdsPnpm) }))
}
