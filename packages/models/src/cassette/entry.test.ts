import { ConfigError } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { replay } from './cassette.ts'
import type { CassetteStore } from './cassette.ts'

const header = '{"cassette":1}'
const entry = '{"key":"k","provider":"acme","model":"m1","request":{},"parts":[]}'

function holding(text: string): CassetteStore {
  return { name: 'test/a.jsonl', lines: () => text.split('\n'), begin() {}, append() {} }
}

const again = 'Record it again, with record(model, cassette) in place of replay(cassette)'

describe('a cassette that cannot be replayed says why', () => {
  const none =
    "cassette 'test/a.jsonl' holds no answers. Record them first: run once with record(model, cassette) in place of replay(cassette)"
  test.for([
    ['empty', '', none],
    ['with a header only', `${header}\n`, none],
    [
      'of a newer version',
      '{"cassette":2,"entries":"elsewhere"}\n???\n',
      "cassette 'test/a.jsonl' has format 2, and this version of @koagent/models reads up to 1: update it, or record again",
    ],
    ['without a header', `${entry}\n`, `cassette 'test/a.jsonl', line 1, is not the header of a cassette. ${again}`],
    ['that is something else', '[1]\n', `cassette 'test/a.jsonl', line 1, is not the header of a cassette. ${again}`],
    [
      'with a merge conflict',
      `${header}\n${entry}\n<<<<<<< HEAD\n${entry}`,
      `cassette 'test/a.jsonl', line 3, is no JSON, but a write that was cut off or the mark of a merge conflict: <<<<<<< HEAD. ${again}`,
    ],
    [
      'with half a line',
      `${header}\n${entry}\n\n${entry.slice(0, 20)}`,
      `cassette 'test/a.jsonl', line 4, is no JSON, but a write that was cut off or the mark of a merge conflict: {"key":"k","provider. ${again}`,
    ],
    ['with a second header', `${header}\n${header}`, `cassette 'test/a.jsonl', line 2, holds no recorded answer. ${again}`],
    [
      'with parts that are no list',
      `${header}\n${entry.replace('[]', '{}')}`,
      `cassette 'test/a.jsonl', line 2, holds no recorded answer. ${again}`,
    ],
    [
      'with an error that says nothing',
      `${header}\n${entry.replace('[]', '[],"error":{}')}`,
      `cassette 'test/a.jsonl', line 2, holds no recorded answer. ${again}`,
    ],
  ] as const)('%s', ([, text, message]) => {
    expect(() => replay(holding(text))).toThrow(new ConfigError(message))
  })
})

test('blank lines, and line ends of Windows, do no harm', () => {
  expect(replay(holding(`\r\n${header}\r\n\r\n${entry}\r\n`))).toMatchObject({ provider: 'acme', id: 'm1' })
})
