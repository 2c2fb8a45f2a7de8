import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { entry } from './measure/child.ts'
import { inPackage } from './report/results.ts'

function bench(args: readonly string[], env: NodeJS.ProcessEnv = {}) {
  return spawnSync(process.execPath, [entry('cli'), ...args], { encoding: 'utf8', env: { ...process.env, ...env } })
}

describe('the command', () => {
  test.for([
    [['nothing'], "no part is named 'nothing': there are run, layer, stream, scale, memory, startup"],
    [['--rounds', 'many'], "--rounds is 'many', and must be a whole number from 1 to 1,000"],
    [['--fast'], "Unknown option '--fast'"],
  ] as const)('says what is wrong with %j, and what there is', ([args, message]) => {
    const { status, stdout, stderr } = bench(args)
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' })
    expect(stderr).toContain(message)
    expect(stderr).toContain('npm run bench -- [part …] [--quick] [--rounds N] [--save]')
  })

  test('prints figures and goals, and writes them as JSON', () => {
    const { status, stdout, stderr } = bench(['layer', '--quick', '--rounds', '1'])
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
    expect(stdout).toMatch(/^koa-compose +returns next\(\) +-?[\d.,]+ +-?[\d.,]+ +ns\/layer$/m)
    expect(stdout).toMatch(/^before_turn, awaits next\(\): at most 2\.5 × koa-compose +-?[\d.,]+ × +(yes|no)$/m)
    const { layer } = JSON.parse(readFileSync(inPackage('results', 'latest.json'), 'utf8')) as Record<string, object>
    expect(layer).toMatchObject({ environment: { node: process.version, rounds: 1, quick: true }, failures: [] })
  })

  test('goes on after a failure, tells of it, and ends with 1', () => {
    const dies = "/memory.program/.test(process.argv[1]) && process.argv[2] !== 'answer' && process.exit(3)"
    const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(dies)}`
    const { status, stdout } = bench(['memory', '--quick'], { NODE_OPTIONS })
    expect(status).toBe(1)
    expect(stdout).toMatch(/^one long answer +deltas +1,000,000 +deltas$/m)
    expect(stdout).toMatch(/^10,000 runs with one signal: no listener left +not measured +no$/m)
    expect(stdout).toMatch(/^FAILED memory, progress: its process ended with exit code 3$/m)
  })

  test.skipIf(process.platform === 'win32')('takes its processes along when it is stopped', async () => {
    // A group of its own shows whether anything of it is left.
    const child = spawn(process.execPath, [entry('cli'), 'run', '--quick'], { detached: true, stdio: 'ignore' })
    const group = -(child.pid ?? NaN)
    await setTimeout(1_500)
    expect(process.kill(group, 0)).toBe(true)
    child.kill('SIGTERM')
    const [code] = (await once(child, 'exit')) as [number]
    expect(code).toBe(143)
    await expect.poll(() => aliveIn(group), { timeout: 10_000 }).toBe(false)
  })
})

function aliveIn(group: number): boolean {
  try {
    return process.kill(group, 0)
  } catch {
    return false
  }
}
