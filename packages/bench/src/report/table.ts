import { rounded } from '../parts/part.ts'
import type { Figure, PartResult, Verdict } from '../parts/part.ts'

/** Head and rows; a column whose head begins with a space is one of numbers. */
export interface Table {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

interface Column {
  readonly head: string
  readonly cell: (figure: Figure) => string | undefined
}

const columns: readonly Column[] = [
  { head: 'what', cell: ({ contender }) => contender },
  { head: 'with', cell: ({ variant }) => variant },
  { head: ' min', cell: ({ min }) => rounded(min) },
  { head: ' median', cell: ({ median }) => (median === undefined ? undefined : rounded(median)) },
  { head: 'unit', cell: ({ unit }) => unit },
  { head: ' × loop', cell: ({ toFloor }) => (toFloor === undefined ? undefined : rounded(toFloor)) },
  { head: ' × koagent', cell: ({ toKoagent }) => (toKoagent === undefined ? undefined : rounded(toKoagent)) },
]

/** The figures of a part. A column that says nothing is left out. */
export function figureTable(figures: readonly Figure[]): Table {
  const used = columns.filter(({ cell }) => figures.some((figure) => cell(figure) !== undefined))
  return { head: used.map(({ head }) => head), rows: figures.map((figure) => used.map(({ cell }) => cell(figure) ?? '')) }
}

/** The goals of a part. */
export function goalTable(verdicts: readonly Verdict[]): Table {
  return {
    head: ['goal', ' measured', 'met'],
    rows: verdicts.map(({ goal, measured, met }) => [goal, measured, met ? 'yes' : 'no']),
  }
}

/** For a terminal. */
export function asText({ head, rows }: Table): string {
  const widths = head.map((title, i) => Math.max(title.trim().length, ...rows.map((row) => row[i]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => (isNumeric(head[i]) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('  ')
      .trimEnd()
  return [line(head.map((title) => title.trim())), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')
}

/** For a README. */
export function asMarkdown({ head, rows }: Table): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [
    line(head.map((title) => title.trim())),
    `|${head.map((title) => (isNumeric(title) ? '---:|' : '---|')).join('')}`,
    ...rows.map(line),
  ].join('\n')
}

/** A part's two tables, for a terminal. */
export function reportOf(title: string, { figures, verdicts, failures }: PartResult): string {
  const tables = [figureTable(figures), goalTable(verdicts)].filter(({ rows }) => rows.length > 0).map(asText)
  return [`${title}\n${'='.repeat(title.length)}`, ...tables, ...failures.map((failure) => `FAILED ${failure}`)].join('\n\n')
}

function isNumeric(title: string | undefined): boolean {
  return title?.startsWith(' ') ?? false
}
