// npm run bench: measures the parts that were asked for, one after the other.
import { readFileSync } from 'node:fs'
import { constants } from 'node:os'
import { optionsOf, usage, UsageError } from './options.ts'
import type { Options } from './options.ts'
import { parts } from './parts/parts.ts'
import { chart } from './report/chart.ts'
import { progress } from './report/progress.ts'
import { chartFile, withResults } from './report/readme.ts'
import { environment, inPackage, load, merged, store, write } from './report/results.ts'
import type { Results } from './report/results.ts'
import { reportOf } from './report/table.ts'

// Leaving by `exit` takes the children along.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.once(signal, () => process.exit(128 + constants.signals[signal]))

/** Resolves to the exit code: 1 when something could not be measured. Goals that are not met are no failure. */
async function bench({ parts: names, settings, quick, save }: Options): Promise<number> {
  const results: Results = {}
  let failed = false
  for (const name of names) {
    const part = parts[name]
    const { title } = part
    const result = await part.measure({ ...settings, report: (text) => progress.show(text) })
    progress.clear()
    console.log(`${reportOf(title, result)}\n`)
    results[name] = { title, environment: environment(settings.rounds, quick), ...result }
    failed ||= result.failures.length > 0
  }
  const latest = inPackage('results', 'latest.json')
  store(latest, results)
  draw(results, 'results', 'latest.svg')
  console.log(`Figures as JSON: ${latest}`)
  if (save && !failed) keep(results)
  return failed ? 1 : 0
}

/** Writes what the repository holds. */
function keep(fresh: Results): void {
  const results = merged(load(inPackage('results.json')), fresh)
  const readme = inPackage('README.md')
  const page = withResults(readFileSync(readme, 'utf8'), results)
  store(inPackage('results.json'), results)
  draw(results, chartFile)
  write(readme, page)
}

function draw(results: Results, ...names: string[]): void {
  const svg = chart(results)
  if (svg) write(inPackage(...names), svg)
}

try {
  process.exitCode = await bench(optionsOf(process.argv.slice(2)))
} catch (error) {
  if (!(error instanceof UsageError)) throw error
  console.error(`${error.message}\n\n${usage}`)
  process.exitCode = 2
}
