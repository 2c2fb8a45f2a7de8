import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { installSize } from './install-size.ts'

let root = ''

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'bench-'))
})
afterEach(() => rmSync(root, { recursive: true }))

/** A package of 100 bytes, and its manifest. Returns the manifest's bytes. */
function place(name: string, manifest: object = {}): number {
  const folder = join(root, 'node_modules', name)
  const text = JSON.stringify({ name, ...manifest })
  mkdirSync(join(folder, 'dist'), { recursive: true })
  writeFileSync(join(folder, 'package.json'), text)
  writeFileSync(join(folder, 'dist', 'index.js'), 'x'.repeat(100))
  return text.length
}

test('counts dependencies of dependencies once, and peers unless they are optional', () => {
  const bytes = [
    place('main', {
      dependencies: { a: '1', b: '1' },
      peerDependencies: { peer: '1', maybe: '1' },
      peerDependenciesMeta: { maybe: { optional: true }, peer: { optional: false } },
    }),
    place('a', { dependencies: { shared: '1' } }),
    place('b', { dependencies: { shared: '1', main: '1' } }),
    place('shared'),
    place('peer'),
  ].reduce((sum, manifest) => sum + manifest + 100, 0)
  place('maybe')
  place('stranger')
  expect(installSize('main', root)).toEqual({ bytes, packages: 5 })
})

test('finds what is nested, and counts it once', () => {
  const main = place('main', { dependencies: { nested: '1' } })
  const nested = place('main/node_modules/nested')
  expect(installSize('main', root)).toEqual({ bytes: main + nested + 200, packages: 2 })
})

test('follows links to where a package and its dependencies really are', () => {
  place('.store/main/node_modules/main', { dependencies: { dep: '1' } })
  place('.store/main/node_modules/dep')
  symlinkSync(join(root, 'node_modules/.store/main/node_modules/main'), join(root, 'node_modules/main'))
  expect(installSize('main', root).packages).toBe(2)
})

test('of optional dependencies what is there counts', () => {
  place('main', { optionalDependencies: { here: '1', elsewhere: '1' } })
  place('here')
  expect(installSize('main', root).packages).toBe(2)
})

test('takes the size of the package itself where it is given', () => {
  place('main')
  expect(installSize('main', root, 7)).toEqual({ bytes: 7, packages: 1 })
})

test('a dependency that is missing is named', () => {
  place('main', { dependencies: { missing: '1' } })
  expect(() => installSize('main', root)).toThrow('missing is not installed for')
})
