// The whole gate: build, types and tests by turbo, then everything that looks at the text or at the built packages.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runQuietly, shim } from './process.mjs'
import { runTests } from './test.mjs'

/** Runs every step, also after one has failed; resolves to 0 only when all passed. */
export async function check() {
  /** @type {[name: string, step: () => Promise<number> | number][]} */
  const steps = [
    ['lint', () => runQuietly('oxlint', ['--type-aware'], shim)],
    ['format (npm run format mends it)', () => runQuietly('oxfmt', ['--check'], shim)],
    ['idle files, exports and dependencies', () => runQuietly('knip', [], shim)],
    ['build, types and tests', () => runTests(['build:js', 'build:types', 'typecheck', 'test'], { logs: 'errors-only' })],
    ['size', () => runQuietly('size-limit', [], { ...shim, cwd: 'tools/gate' })],
    ['what the built packages import', checkImports],
    ['published packages', checkPacked],
  ]
  const failed = []
  for (const [name, step] of steps) {
    const start = performance.now()
    const status = await step()
    const seconds = ((performance.now() - start) / 1000).toFixed(1)
    console.log(`${status === 0 ? '✓' : '✗'} ${name} (${seconds} s)`)
    if (status !== 0) failed.push(name)
  }
  if (failed.length > 0) console.error(`The gate is closed: ${failed.join('; ')}.`)
  return failed.length > 0 ? 1 : 0
}

function published() {
  return readdirSync('packages')
    .map((folder) => ({
      folder: `packages/${folder}`,
      manifest: JSON.parse(readFileSync(`packages/${folder}/package.json`, 'utf8')),
    }))
    .filter(({ manifest }) => !manifest.private)
}

/** Packs each package as it would be published, and has its manifest and its types judged. */
async function checkPacked() {
  let failed = 0
  for (const { folder, manifest } of published()) {
    const target = mkdtempSync(join(tmpdir(), 'koagent-'))
    try {
      const tarball = join(target, `${manifest.name.replace('@', '').replace('/', '-')}-${manifest.version}.tgz`)
      failed ||=
        (await runQuietly('pnpm', ['pack', '--pack-destination', target], { ...shim, cwd: folder })) ||
        (await runQuietly('publint', ['run', tarball, '--strict'], shim)) ||
        (await runQuietly('attw', [tarball, '--profile', 'esm-only', '--no-emoji'], shim))
    } finally {
      rmSync(target, { recursive: true })
    }
  }
  return failed
}

/**
 * Core runs wherever JavaScript does, so it may import only what it declares; no entry may load an optional peer
 * except the one that is named after it; and nothing may lean on `AbortSignal.any`, however it is spelled.
 */
function checkImports() {
  const problems = published().flatMap(({ folder, manifest }) => {
    const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
    return Object.entries(manifest.exports).flatMap(([entry, { default: file }]) => {
      if (!file) return []
      const { imports, text } = reachable(join(folder, file))
      const optional = declared.filter((name) => manifest.peerDependenciesMeta?.[name]?.optional && !entry.includes(name))
      return [
        ...imports
          .filter((name) => !declared.includes(packageOf(name)))
          .map((name) => `imports ${name}, which its manifest does not declare`),
        ...imports.filter((name) => optional.includes(packageOf(name))).map((name) => `imports ${name}, an optional peer`),
        ...(/AbortSignal\s*(\.\s*any\b|\[)/.test(text) ? ['uses AbortSignal.any'] : []),
      ].map((problem) => `${manifest.name} ${entry} ${problem}`)
    })
  })
  for (const problem of problems) console.error(problem)
  return problems.length > 0 ? 1 : 0
}

/** All that an entry loads: the text of its own files, and the names of the packages that these import. */
function reachable(entry) {
  const files = new Set([entry])
  const packages = new Set()
  let text = ''
  for (const file of files) {
    const source = readFileSync(file, 'utf8')
    text += source
    for (const [, , name] of source.matchAll(/(?:\bfrom|\bimport)\s*(\(?)\s*["']([^"'\n]+)["']/g)) {
      if (name.startsWith('.')) files.add(join(file, '..', name))
      else packages.add(name)
    }
  }
  return { imports: [...packages], text }
}

function packageOf(name) {
  return name.split('/', name.startsWith('@') ? 2 : 1).join('/')
}
