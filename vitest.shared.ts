// Shared by all packages: tests run on the sources, without a build, and type tests (*.test-d.ts) count as tests.
import { defineConfig } from 'vitest/config'

const conditions = ['@koagent/source']

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['src/**/*.test.ts'],
    typecheck: { enabled: true, checker: 'tsc', include: ['src/**/*.test-d.ts'], tsconfig: './tsconfig.json' },
    reporters: ['default', 'json'],
    outputFile: { json: '.vitest/report.json' },
  },
})
