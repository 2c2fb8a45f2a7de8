// Shared by all packages and run in the folder of one: every `exports` entry that names a source file is an input.
import { readFileSync } from 'node:fs'
import { isAbsolute } from 'node:path'
import esbuild from 'rollup-plugin-esbuild'

const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
const sources = Object.values(exports).flatMap((entry) => entry['@koagent/source'] ?? [])

export default {
  // './src/timing/timing.ts' becomes dist/timing/timing.js, where tsc puts timing.d.ts too.
  input: Object.fromEntries(sources.map((source) => [source.slice('./src/'.length, -'.ts'.length), source])),
  external: (id) => !id.startsWith('.') && !isAbsolute(id),
  plugins: [esbuild({ target: 'es2022', tsconfig: false })],
  output: { dir: 'dist', format: 'es', sourcemap: true, chunkFileNames: 'shared/[name].js', hoistTransitiveImports: false },
}
