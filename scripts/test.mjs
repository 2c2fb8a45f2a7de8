// Runs the tests of all packages, `test` and `test:e2e`, and adds up their counts (see vitest.shared.ts) into one total.
// A suite that cannot be loaded, that ran no test or that left no report counts as a failure.
import { existsSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { run, shim } from './process.mjs'

/** Scripts of a package that leave counts; no package has both. */
const suites = ['test', 'test:e2e']

/** Runs turbo tasks, a suite among them, and prints the total. `only` names packages, with or without their scope. */
export async function runTests(tasks, { only = [], logs = 'full' } = {}) {
  const all = packagesWith(tasks.filter((task) => suites.includes(task)))
  const packages = all.filter(({ folder, name }) => only.length === 0 || only.includes(folder) || only.includes(name))
  if (packages.length === 0) {
    console.error(`No package is named ${only.join(' or ')}. There are: ${all.map(({ folder }) => folder).join(', ')}.`)
    return 2
  }
  // An earlier report must not stand in for a suite that did not run; turbo brings back those of suites that did not change.
  for (const { report } of packages) rmSync(report, { force: true })
  const filters = only.length === 0 ? [] : packages.map(({ name }) => `--filter=${name}`)
  const status = await run(
    'turbo',
    ['run', ...tasks, ...filters, '--continue=always', '--log-order=grouped', '--log-prefix=none', `--output-logs=${logs}`],
    shim,
  )
  return printTotal(packages) || status
}

/** Prints a line per package and the total; returns 1 when anything failed. */
function printTotal(packages) {
  const counts = packages.map((each) => ({ ...each, ...count(each.report) }))
  const sum = (key) => counts.reduce((total, each) => total + each[key], 0)
  const [passed, failed] = [sum('passed'), sum('failed')]
  for (const each of counts) {
    const notes = [each.failed > 0 && `${each.failed} failed`, each.skipped > 0 && `${each.skipped} skipped`, each.note].filter(
      Boolean,
    )
    console.log([`  ${each.name.padEnd(24)} ${String(each.passed).padStart(5)} passed`, ...notes].join(', '))
  }
  console.log(`${passed} passed, ${failed} failed`)
  return failed > 0 ? 1 : 0
}

function packagesWith(wanted) {
  return readdirSync('packages')
    .map((folder) => ({ folder, manifest: `packages/${folder}/package.json`, report: `packages/${folder}/.vitest/counts.json` }))
    .filter(({ manifest }) => existsSync(manifest))
    .map((found) => ({ ...found, ...JSON.parse(readFileSync(found.manifest, 'utf8')) }))
    .filter(({ scripts }) => wanted.some((suite) => scripts?.[suite]))
}

function count(report) {
  if (!existsSync(report)) return { passed: 0, failed: 1, skipped: 0, note: 'the suite left no report' }
  const { passed, failed, skipped } = JSON.parse(readFileSync(report, 'utf8'))
  return passed + failed === 0 ? { passed, failed: 1, skipped, note: 'the suite ran no test' } : { passed, failed, skipped }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = printTotal(packagesWith(suites))
