// Child processes that behave like the parent: same terminal, same signals, same exit code.
import { spawn } from 'node:child_process'
import { constants } from 'node:os'

const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
const onTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY

/** How npm's command-line shims have to be started on Windows; never used for arguments that a user typed. */
export const shim = { shell: process.platform === 'win32' }

/** Runs a program and resolves to its exit code; a death by signal counts as 128 + its number, as in a shell. */
export function run(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['ignore', 'inherit', 'inherit'], ...options })
    // Ctrl-C reaches the child from the terminal itself; a second one would look like an impatient user.
    const forward = (signal) => (signal === 'SIGINT' && onTerminal) || child.kill(signal)
    for (const signal of signals) process.on(signal, forward)
    child.once('error', reject)
    child.once('close', (code, signal) => {
      for (const each of signals) process.off(each, forward)
      resolve(signal ? 128 + constants.signals[signal] : code)
    })
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => options.output?.push(chunk))
  })
}

/** The same for programs whose output matters only when they fail. */
export async function runQuietly(program, args, options = {}) {
  const output = []
  const status = await run(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'], output })
  if (status !== 0) process.stderr.write(Buffer.concat(output))
  return status
}
