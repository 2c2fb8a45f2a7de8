// Shared by all packages: tests run on the sources, without a build, and type tests (*.test-d.ts) count as tests.
import { mkdirSync, writeFileSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import type { Reporter } from 'vitest/node'

const conditions = ['@koagent/source']

/** Leaves the counts for the total over all packages. What fails outside a test, such as a loose rejection, an import or a type, counts too. */
const counts: Reporter = {
  onTestRunEnd(modules, errors) {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const inState = (state: string) => tests.filter((test) => test.result().state === state).length
    const broken = modules.filter((module) => module.state() === 'failed' && ![...module.children.allTests('failed')].length)
    const failed = inState('failed') + broken.length + errors.length
    mkdirSync('.vitest', { recursive: true })
    writeFileSync('.vitest/counts.json', JSON.stringify({ passed: inState('passed'), failed, skipped: inState('skipped') }))
  },
}

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['src/**/*.test.ts'],
    benchmark: { include: ['src/**/*.perf.ts'] },
    // Only what hangs should fail: machines are shared, and a property is hundreds of runs.
    testTimeout: 60_000,
    typecheck: { enabled: true, checker: 'tsc', include: ['src/**/*.test-d.ts'], tsconfig: './tsconfig.json' },
    reporters: ['default', counts],
  },
})
