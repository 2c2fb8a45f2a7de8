import { expect, test } from 'vitest'
import type { Figure } from '../parts/part.ts'
import { chart } from './chart.ts'
import { withResults } from './readme.ts'
import { merged } from './results.ts'
import type { SavedPart } from './results.ts'
import { asMarkdown, asText, figureTable, goalTable, reportOf } from './table.ts'

const figures: readonly Figure[] = [
  { contender: 'loop', variant: '0 middlewares', unit: 'µs/run', min: 4, median: 5, toFloor: 1 },
  { contender: 'koagent', variant: '0 middlewares', unit: 'µs/run', min: 40, median: 45.678, toFloor: 10, toKoagent: 1 },
  { contender: 'langchain', variant: '5 middlewares', unit: 'µs/run', min: 29_000, median: 30_000 },
]
const verdicts = [{ goal: 'at most 10 × the loop', measured: '10 ×', met: true }]
const part: SavedPart = {
  title: 'CPU time of a run',
  environment: {
    date: '2026-01-02',
    node: 'v20.20.0',
    cpu: '2 × Some CPU',
    platform: 'linux x64',
    rounds: 12,
    quick: false,
    versions: { koagent: '0.1.0' },
  },
  figures,
  verdicts,
  failures: [],
}

test('a table for the terminal stands in columns, numbers to the right', () => {
  expect(asText(figureTable(figures))).toBe(
    [
      'what       with              min  median  unit    × loop  × koagent',
      '---------  -------------  ------  ------  ------  ------  ---------',
      'loop       0 middlewares       4       5  µs/run       1',
      'koagent    0 middlewares      40    45.7  µs/run      10          1',
      'langchain  5 middlewares  29,000  30,000  µs/run',
    ].join('\n'),
  )
})

test('a column that says nothing is left out', () => {
  expect(figureTable([{ contender: 'heap', variant: 'growth', unit: 'MiB', min: 0.1 }])).toEqual({
    head: ['what', 'with', ' min', 'unit'],
    rows: [['heap', 'growth', '0.1', 'MiB']],
  })
})

test('goals say what was measured, and whether that is enough', () => {
  expect(asMarkdown(goalTable([...verdicts, { goal: 'a | b', measured: '2 ×', met: false }]))).toBe(
    ['| goal | measured | met |', '|---|---:|---|', '| at most 10 × the loop | 10 × | yes |', '| a \\| b | 2 × | no |'].join(
      '\n',
    ),
  )
})

test('a report tells what could not be measured', () => {
  expect(reportOf('Run', { figures: [], verdicts: [], failures: ['run, ai, 0 middlewares: no'] })).toBe(
    'Run\n===\n\nFAILED run, ai, 0 middlewares: no',
  )
})

test('the page keeps what stands around its results', () => {
  const page = 'Before.\n\n<!-- results -->\n\nold\n\n<!-- end -->\n\nAfter.\n'
  const written = withResults(page, { run: part })
  expect(written).toMatch(
    /^Before\.\n\n<!-- results -->\n\n!\[.+\]\(results\.svg\)\n\n### CPU time of a run\n\n2026-01-02, Node v20\.20\.0, 2 × Some CPU, 12 rounds; koagent 0\.1\.0\.\n\n\| what /,
  )
  expect(written).toMatch(/\| yes \|\n\n<!-- end -->\n\nAfter\.\n$/)
  expect(written).not.toContain('old')
  expect(withResults(written, { run: part })).toBe(written)
  expect(withResults(page, { memory: part })).not.toContain('results.svg')
})

test('a page without a place for results is refused', () => {
  expect(() => withResults('No markers.', {})).toThrow('the README needs a place for the results')
})

test('a part that is measured again replaces its predecessor, in the order of the report', () => {
  const newer = { ...part, title: 'newer' }
  expect(Object.entries(merged({ startup: part, run: part }, { run: newer, layer: part }))).toEqual([
    ['run', newer],
    ['layer', part],
    ['startup', part],
  ])
})

test('the chart has a bar for each figure, longer where there is more', () => {
  const svg = chart({ run: part }) ?? ''
  expect([...svg.matchAll(/text-anchor="end"[^>]*>([^<]+)</g)].map(([, label]) => label)).toEqual([
    'hand-written loop',
    'koagent',
    'langchain, 5 middlewares',
  ])
  const lengths = [...svg.matchAll(/<rect x="230"[^>]* width="([\d.]+)"/g)].map(([, length]) => Number(length))
  expect(lengths).toEqual(lengths.toSorted((a, b) => a - b))
  expect(lengths[0]).toBeGreaterThan(0)
  expect(svg).toContain('>29,000</text>')
})

test('without figures for it there is no chart', () => {
  expect(chart({ memory: part })).toBeUndefined()
})
