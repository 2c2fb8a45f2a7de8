import fs, { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { record, replay } from './cassette.ts'
import { cassetteFile } from './file.ts'
import { say, thrownBy } from './testing/tape.ts'

vi.mock('node:fs', { spy: true })

let folder: string
let file: string
let count = 0
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cassette-'))
})
beforeEach(() => {
  file = join(folder, `${count++}`, 'deep', 'a.jsonl')
})
afterAll(() => rmSync(folder, { recursive: true }))

test('folders are made with the first write, and a new recording replaces the old one', async () => {
  const first = cassetteFile(file)
  expect(fs.existsSync(join(file, '..'))).toBe(false)
  await say(record(scripted([{ text: 'old' }]), first), 'a')
  const second = cassetteFile(file)
  const model = record(scripted([{ text: 'new' }, { text: 'more' }]), second)
  expect(await say(replay(second), 'a')).toBe('old')
  await say(model, 'a')
  await say(model, 'b')
  const text = readFileSync(file, 'utf8')
  expect(text.split('\n').map((line) => line.slice(0, 8))).toEqual(['{"casset', '{"key":"', '{"key":"', ''])
  const replayed = replay(cassetteFile(file))
  expect([await say(replayed, 'a'), await say(replayed, 'b')]).toEqual(['new', 'more'])
})

test('parallel calls leave whole lines', async () => {
  const store = cassetteFile(file)
  const long = 'word '.repeat(20_000)
  const model = record(scripted(Array.from({ length: 8 }, () => ({ parts: [{ type: 'text_delta', text: long }] }))), store)
  await Promise.all(Array.from({ length: 8 }, (_, n) => say(model, `${n}`)))
  expect(store.lines().map((line) => line.slice(-1))).toEqual([...Array.from({ length: 9 }, () => '}'), ''])
})

test('a file that is not there has no lines; one that cannot be read is named', () => {
  const missing = cassetteFile(file)
  expect(missing.lines()).toEqual([])
  expect(() => replay(missing)).toThrow(/holds no answers\. Record them first/)
  expect(() => cassetteFile(folder).lines()).toThrow(ConfigError)
  expect(() => cassetteFile(folder).lines()).toThrow(`cassette '${folder}' cannot be read: EISDIR`)
})

test('a write that fails leaves no half line, and is named', async () => {
  const store = cassetteFile(file)
  const model = record(scripted([{ text: '1' }, { text: '2' }, { text: '3' }]), store)
  await say(model, 'a')
  const before = readFileSync(file, 'utf8')
  vi.mocked(writeFileSync).mockImplementationOnce((fd, line) => {
    fs.writeSync(Number(fd), String(line).slice(0, 10))
    throw new Error('ENOSPC: no space left on device')
  })
  expect(await thrownBy(say(model, 'b'))).toMatchObject({
    code: 'cassette_write',
    message: `the answer of model 'scripted/scripted' could not be recorded in cassette '${file}': ENOSPC: no space left on device`,
  })
  expect(readFileSync(file, 'utf8')).toBe(before)
  await say(model, 'c')
  expect(await say(replay(store), 'c')).toBe('3')
})
