import type { Json } from '@koagent/core'
import type { Piece } from '../words/pieces.ts'
import { currencyCode, isStopWord, stem } from '../words/words.ts'
import type { Parameter } from './tools.ts'

const units = { millisecond: 0.001, ms: 0.001, second: 1, sec: 1, minute: 60, min: 60, hour: 3600, day: 86_400, week: 604_800 }
const seconds = new Map(Object.entries(units).map(([unit, size]) => [stem(unit), size] as const))

/** The value of a piece in the type that the parameter wants; undefined where it has none. */
export function valueFor(parameter: Parameter, piece: Piece, text: string): Json | undefined {
  if (parameter.choices) return parameter.choices.find((choice) => String(choice) === text)
  if (parameter.type === 'boolean') return undefined
  return parameter.type === 'number' ? amountOf(parameter, piece, text) : spelled(parameter, text)
}

/** What a number counts: 'lines' in '20 lines', as a stem. */
export function unitOf({ kind, text, after }: Piece): string {
  if (kind === 'number') return isStopWord(after) ? '' : after
  return kind === 'date' ? stem(/^in \d+ (\w+)$/.exec(text)?.[1] ?? '') : ''
}

export function isTimeUnit(root: string): boolean {
  return seconds.has(root)
}

/** A number; minutes become seconds where the parameter is called so. */
function amountOf({ name, integer }: Parameter, piece: Piece, text: string): number | undefined {
  const pattern = piece.kind === 'date' ? /^in (\d+) / : /^#?([-+]?\d+(?:\.\d+)?)$/
  if (!/^(?:date|number|identifier|quoted)$/.test(piece.kind)) return undefined
  const digits = pattern.exec(text)?.[1]
  if (digits === undefined) return undefined
  const wanted = seconds.get([...name].find(isTimeUnit) ?? '')
  const given = seconds.get(unitOf(piece))
  const value = wanted && given ? (Number(digits) * given) / wanted : Number(digits)
  return integer && !Number.isInteger(value) ? undefined : value
}

/** The text as the parameter wants it: a currency's code in place of its name. */
function spelled({ pattern, notes }: Parameter, text: string): string | undefined {
  const code = currencyCode(stem(text))
  if (code !== undefined && (pattern?.test(code) || notes.has('iso') || notes.has('cod'))) return code
  return pattern && !pattern.test(text) ? undefined : text
}
