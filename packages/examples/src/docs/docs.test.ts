import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { inspect } from 'node:util'
import { beforeAll, describe, expect, test, vi } from 'vitest'
import { pages, samplesOf } from './samples.ts'

const root = resolve(import.meta.dirname, '../../../..')
const folder = resolve(import.meta.dirname, '../../.samples')
const samples = pages(root)
  .flatMap((page) => samplesOf(page, readFileSync(join(root, page), 'utf8')))
  .map((sample) => ({ ...sample, file: `${sample.place.replaceAll(/[/:]/g, '-')}.ts` }))

beforeAll(() => {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  for (const { file, code } of samples) writeFileSync(join(folder, file), `${code}\nexport {}\n`)
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ extends: '../tsconfig.json', include: ['*.ts'] }))
})

test('every sample of the documentation compiles', { timeout: 120_000 }, async () => {
  const messages = await compile()
  // An error in the sources is not the page's: the typecheck of its package tells of it.
  expect(messages.filter((message) => !message.startsWith('..'))).toEqual([])
})

/** What tsc has to say, an entry for each error. */
async function compile(): Promise<readonly string[]> {
  const tsc = resolve(root, 'node_modules/typescript/bin/tsc')
  const output = await new Promise<string>((done) => {
    execFile(process.execPath, [tsc, '-p', folder], { cwd: folder }, (_, stdout, stderr) => done(stdout + stderr))
  })
  return output.split(/\n(?=\S)/).filter(Boolean)
}

describe('every sample that can run does, and prints what the page says', () => {
  test.for(samples.filter(({ runs }) => runs))('$place', { timeout: 30_000 }, async ({ file, output }) => {
    const printed: string[] = []
    const log = vi.spyOn(console, 'log').mockImplementation((...data) => void printed.push(format(data)))
    try {
      await import(/* @vite-ignore */ join(folder, file))
    } finally {
      log.mockRestore()
    }
    expect(output === undefined ? undefined : printed.join('\n').replaceAll(/ +$/gm, '')).toBe(output)
  })
})

test.for(samples)('$place shows no casts, no any and no ignored errors', ({ shown }) => {
  const code = shown.replaceAll(/^import .*$|'[^'\n]*'|`[^`]*`/gm, '')
  expect(code).not.toMatch(/@ts-|\bas (?!const\b)\w|: any\b/)
})

test('the sample at the top of the README is the approval example', () => {
  const example = readFileSync(resolve(import.meta.dirname, '../approval/approval.ts'), 'utf8').trim()
  expect(readFileSync(join(root, 'README.md'), 'utf8').split('```ts\n')[1]?.split('\n```')[0]).toBe(example)
})

test('every link between pages leads to a page', () => {
  const broken = [...pages(root), 'CONTRIBUTING.md', 'llms.txt'].flatMap((page) =>
    [...readFileSync(join(root, page), 'utf8').matchAll(/\]\((?!https?:|#)([^)#]+)/g)]
      .map(([, target]) => join(page, '..', target ?? ''))
      .filter((target) => !isThere(join(root, target)))
      .map((target) => `${page}: ${target}`),
  )
  expect(broken).toEqual([])
})

function isThere(path: string): boolean {
  try {
    return readFileSync(path).length > 0
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EISDIR'
  }
}

/** As console.log would print it, for the values that samples print. */
function format(data: readonly unknown[]): string {
  return data.map((value) => (typeof value === 'string' ? value : inspect(value, { breakLength: Infinity }))).join(' ')
}
