// The front door: `npm start`, `npm test` and the other scripts work on a fresh clone, with nothing but Node and npm.
import { check } from './check.mjs'
import { docs } from './docs.mjs'
import { install } from './install.mjs'
import { run, runQuietly, shim } from './process.mjs'
import { runTests } from './test.mjs'

const [command, ...args] = process.argv.slice(2)
// Its dependencies are not there in the scope 'packages'; the gate looks at it.
const withoutBench = '--filter=!@koagent/bench'
const quiet = ['--output-logs=errors-only', '--log-order=grouped', '--continue=always']

const commands = {
  /** Builds the example quietly, then hands the terminal over to it: arguments, colours and Ctrl-C are its own. */
  async start() {
    await install('packages')
    const built = await runQuietly('turbo', ['run', 'build:js', '--filter=@koagent/examples...', ...quiet], shim)
    return built || run(process.execPath, ['packages/examples/dist/assistant/main.js', ...args], { stdio: 'inherit' })
  },

  /** All tests, or those of the packages that are named: `npm test core models`. */
  async test() {
    await install('packages')
    return runTests(['test'], { only: args })
  },

  /** Tests that need much: packages, processes, minutes. */
  async 'test:e2e'() {
    await install('bench')
    return runTests(['test:e2e'], { only: args })
  },

  /** Measures koagent beside its peers: `npm run bench -- run stream --quick`. */
  async bench() {
    await install('bench')
    const built = await runQuietly('turbo', ['run', 'build:js', 'build:types', '--filter=@koagent/bench...', ...quiet], shim)
    return built || run(process.execPath, ['packages/bench/dist/cli.js', ...args], { stdio: 'inherit' })
  },

  async build() {
    await install('packages')
    return run('turbo', ['run', 'build:js', 'build:types', withoutBench, ...quiet], shim)
  },

  async typecheck() {
    await install('packages')
    return run('turbo', ['run', 'typecheck', withoutBench, ...quiet], shim)
  },

  async lint() {
    await install('everything')
    return run('oxlint', ['--type-aware', ...args], shim)
  },

  async format() {
    await install('everything')
    return run('oxfmt', args, shim)
  },

  /** The whole gate. */
  async check() {
    await install('everything')
    return check()
  },

  /** Writes the generated parts of the documentation; with `--check` it only says whether they are up to date. */
  async docs() {
    await install('packages')
    return docs({ check: args.includes('--check') })
  },

  async changeset() {
    await install('everything')
    return run('changeset', args, { ...shim, stdio: 'inherit' })
  },
}

// Turbo would have the tools write colours into files and pipes too.
if (!process.stdout.isTTY && !process.env.FORCE_COLOR) process.env.NO_COLOR = '1'

if (!Object.hasOwn(commands, command)) {
  console.error(`Unknown command '${command}'. There are: ${Object.keys(commands).join(', ')}.`)
  process.exit(2)
}
process.exitCode = await commands[command]()
