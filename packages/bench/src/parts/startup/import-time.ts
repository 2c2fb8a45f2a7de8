import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/**
 * CPU microseconds of a fresh process that imports these packages and does nothing else, Node's own start included.
 *
 * @throws Error with what the process said, when an import fails
 */
export async function importTime(packages: readonly string[], cwd: string): Promise<number> {
  const program = `${packages.map((name) => `await import('${name}');`).join(' ')}
    const { user, system } = process.cpuUsage(); process.stdout.write(String(user + system)); process.exit()`
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { cwd, timeout: 60_000 })
  return Number(stdout.trim().split('\n').at(-1))
}
