import type { Environment, Results } from './results.ts'
import { asMarkdown, figureTable, goalTable } from './table.ts'

/** Beside the page. */
export const chartFile = 'results.svg'

const begin = '<!-- results -->'
const end = '<!-- end -->'

/**
 * The page with these results between its markers.
 *
 * @throws Error when the markers are not there
 */
export function withResults(page: string, results: Results): string {
  const from = page.indexOf(begin)
  const to = page.indexOf(end, from)
  if (from < 0 || to < 0) throw new Error(`the README needs a place for the results: ${begin} and ${end} on lines of their own`)
  return `${page.slice(0, from + begin.length)}\n\n${markdownOf(results)}\n\n${page.slice(to)}`
}

function markdownOf(results: Results): string {
  // Without these parts there is no chart.
  const picture = results.run || results.stream ? [`![CPU time of a run and of a streamed delta](${chartFile})`] : []
  const parts = Object.values(results).flatMap(({ title, environment, figures, verdicts, failures }) => [
    `### ${title}`,
    circumstances(environment),
    ...[figureTable(figures), goalTable(verdicts)].filter(({ rows }) => rows.length > 0).map(asMarkdown),
    ...failures.map((failure) => `Not measured: ${failure}.`),
  ])
  return [...picture, ...parts].join('\n\n')
}

function circumstances({ date, node, cpu, rounds, versions }: Environment): string {
  const each = Object.entries(versions).map(([name, version]) => `${name} ${version}`)
  return `${date}, Node ${node}, ${cpu}, ${rounds} rounds; ${each.join(', ')}.`
}
