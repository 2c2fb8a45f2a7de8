import { closeSync, fstatSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { ConfigError } from '@koagent/core'
import { rootOf } from '../model-error/failure.ts'
import type { CassetteStore } from './store.ts'

/**
 * A cassette in a file of JSON lines, to be kept beside the tests and under version control. It is read and written only when that is needed; folders
 * are made with the first write. That write replaces the file: models that record to one file share one `cassetteFile`.
 *
 * Contract: lines are written whole and in order, one at a time; of a write that fails nothing stays.
 *
 * @param path relative to the working directory at this moment
 * @throws ConfigError from `lines()` when the file is there and cannot be read
 *
 * @example
 * const cassette = cassetteFile('test/weather.jsonl')
 */
export function cassetteFile(path: string): CassetteStore {
  const file = resolve(path)
  return {
    name: path,
    lines() {
      try {
        return readFileSync(file, 'utf8').split('\n')
      } catch (error) {
        if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
        throw new ConfigError(`cassette '${path}' cannot be read: ${rootOf(error)}`, { cause: error })
      }
    },
    begin(line) {
      mkdirSync(dirname(file), { recursive: true })
      write(file, 'w', line)
    },
    append(line) {
      write(file, 'a', line)
    },
  }
}

// Synchronous, so that no other write comes in between, and a process that ends has written all or nothing of it.
function write(file: string, flag: 'w' | 'a', line: string): void {
  const fd = openSync(file, flag)
  try {
    const { size } = fstatSync(fd)
    try {
      writeFileSync(fd, `${line}\n`)
    } catch (error) {
      // A disk that is full takes a part of it.
      ftruncateSync(fd, size)
      throw error
    }
  } finally {
    closeSync(fd)
  }
}
