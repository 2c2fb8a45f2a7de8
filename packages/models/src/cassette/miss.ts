import { ModelError } from '@koagent/core'
import { differences, sizeOf } from './difference.ts'
import type { Difference } from './difference.ts'
import type { Recorded } from './entry.ts'

const shown = 5
const maxChars = 60

/** The error for a request that nobody recorded: where it differs from the nearest one, and what to do. */
export function miss(store: string, entries: readonly [Recorded, ...Recorded[]], asked: unknown): ModelError {
  const [{ provider, model }] = entries
  const found = entries
    .map(({ line, request }) => {
      const differ = differences(request, asked)
      return { line, differ, distance: differ.reduce((sum, difference) => sum + sizeOf(difference), 0) }
    })
    .reduce((best, each) => (each.distance < best.distance ? each : best))
  const rest = found.differ.length - shown
  const message = [
    `model '${provider}/${model}' was asked what is not recorded in cassette '${store}'. The nearest recorded request, in line ${found.line}, differs:`,
    ...found.differ.slice(0, shown).map((difference) => `  ${described(difference)}`),
    ...(rest > 0 ? [`  and in ${rest} more ${rest === 1 ? 'place' : 'places'}`] : []),
    'Record it again if this change is meant. For what changes with every run, such as a date, give the same `clean` to record and replay.',
  ].join('\n')
  return new ModelError(message, { code: 'cassette_miss', retryable: false, provider })
}

function described({ path, recorded, asked }: Difference): string {
  // Two long texts may begin alike.
  const from = typeof recorded === 'string' && typeof asked === 'string' ? Math.max(0, commonChars(recorded, asked) - 20) : 0
  return `${path}: recorded ${excerpt(recorded, from)}, asked ${excerpt(asked, from)}`
}

function commonChars(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return at
}

function excerpt(value: unknown, from: number): string {
  if (value === undefined) return 'nothing'
  if (typeof value === 'string') {
    const cut = value.slice(from, from + maxChars)
    return `${from > 0 ? '…' : ''}${JSON.stringify(cut)}${from + maxChars < value.length ? '…' : ''}`
  }
  const json = JSON.stringify(value)
  return json.length > maxChars ? `${json.slice(0, maxChars)}…` : json
}
