// The whole gate: build, types and tests by turbo, then everything that looks at the text or at the built packages.
import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { docs } from './docs.mjs'
import { runQuietly, shim } from './process.mjs'
import { runTests } from './test.mjs'

/** Runs every step, also after one has failed; resolves to 0 only when all passed. */
export async function check() {
  /** @type {[name: string, step: () => Promise<number> | number][]} */
  const steps = [
    ['lint', () => runQuietly('oxlint', ['--type-aware'], shim)],
    ['format (npm run format mends it)', () => runQuietly('oxfmt', ['--check'], shim)],
    ['generated pages', () => docs({ check: true })],
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
 * The packages run wherever JavaScript does, so they may import only what they declare, and no Node built-in; only the
 * entry that is named after an optional peer may load it at once; nothing leans on `AbortSignal.any`, however it is spelled.
 */
async function checkImports() {
  const problems = []
  for (const { folder, manifest } of published()) {
    const declared = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
    for (const [entry, { default: file }] of Object.entries(manifest.exports)) {
      if (!file) continue
      const report = (problem) => problems.push(`${manifest.name} ${entry} ${problem}`)
      const { imports, text } = await load(join(folder, file))
      for (const { path, kind } of imports) {
        const name = packageOf(path)
        const optional =
          manifest.peerDependenciesMeta?.[name]?.optional && kind !== 'dynamic-import' && !isNamedAfter(entry, name)
        if (!declared.includes(name)) report(`imports ${path}, which its manifest does not declare`)
        else if (optional) report(`imports ${path}, an optional peer`)
      }
      if (/\bAbortSignal\s*(\.\s*any\b|\[)/.test(text)) report('uses AbortSignal.any')
    }
  }
  for (const problem of problems) console.error(problem)
  return problems.length > 0 ? 1 : 0
}

/** What an entry brings with it: the packages that it imports, also through its other files, and the text of these files. */
async function load(entry) {
  // Not at the top of the file: on a fresh clone it is not installed when this module is loaded.
  const { build } = await import('esbuild')
  const { metafile, outputFiles } = await build({
    entryPoints: [entry],
    bundle: true,
    packages: 'external',
    format: 'esm',
    metafile: true,
    write: false,
  })
  return {
    imports: Object.values(metafile.outputs).flatMap(({ imports }) => imports),
    text: outputFiles.map(({ text }) => text).join('\n'),
  }
}

/** './openai-compatible' after 'openai', './anthropic' after '@anthropic-ai/sdk'. */
function isNamedAfter(entry, name) {
  return entry.includes(name) || (entry !== '.' && name.includes(entry.slice(2)))
}

function packageOf(name) {
  return name.split('/', name.startsWith('@') ? 2 : 1).join('/')
}
