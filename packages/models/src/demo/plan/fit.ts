import type { Json } from '@koagent/core'
import type { Piece } from '../words/pieces.ts'
import type { Token } from '../words/tokens.ts'
import { meets, stem, stems } from '../words/words.ts'
import { leadScore, nameScore, suitability } from './affinity.ts'
import type { Parameter, Tool } from './tools.ts'
import { isCapital, trimmed } from './trim.ts'
import { valueFor } from './values.ts'

/** A piece as the value of a parameter, and how well it suits. */
export interface Fit {
  readonly parameter: Parameter
  readonly piece: Piece
  /** The words of the piece that are the value. */
  readonly tokens: readonly Token[]
  readonly value: Json
  /** How well the kind of the piece suits by itself. */
  readonly base: number
  readonly score: number
}

/** A piece as the value of a parameter; undefined where it cannot be one. */
export function fit(parameter: Parameter, piece: Piece, tool: Tool): Fit | undefined {
  if (piece.kind === 'moment' && wantsDayAndTime(tool)) return undefined
  if (piece.kind === 'identifier' && parameter.name.has(stem(piece.text))) return undefined
  const words = trimmed(piece, parameter, tool)
  const value = words && valueFor(parameter, piece, textOf(piece, words.tokens))
  if (!words || value === undefined) return undefined
  const { tokens } = words
  const named = words.named ? 6 : nameScore(parameter, piece, tool)
  const base = baseOf(parameter, piece, tool, tokens) ?? (named >= 4 ? 0 : undefined)
  if (base === undefined || (piece.kind === 'phrase' && named < 4 && isKindOfThing(parameter, piece, tokens))) return undefined
  // A phrase that shares words with the tool is likelier its name than a value: 'the musical scale'.
  const isAbout = piece.lead === '' && named < 4 && tokens.some(({ root }) => tool.name.has(root) || tool.description.has(root))
  const bonus = (parameter.required ? 0.5 : 0) + (parameter.list ? 0.7 : 0) - (isAbout ? 0.4 : 0)
  return { parameter, piece, tokens, value, base, score: base + Math.max(named, leadScore(parameter, piece)) + bonus }
}

function baseOf(parameter: Parameter, piece: Piece, tool: Tool, kept: readonly Token[]): number | undefined {
  if (parameter.choices) return 5
  return parameter.type === 'number' ? 2 : suitability(parameter, piece, tool, kept)
}

function textOf({ text, tokens }: Piece, kept: readonly Token[]): string {
  if (kept === tokens) return text
  const start = tokens[0]?.start ?? 0
  return text.slice((kept[0]?.start ?? 0) - start, (kept.at(-1)?.end ?? 0) - start)
}

/** Does a tool want the day and the time apart? */
function wantsDayAndTime({ parameters }: Tool): boolean {
  const isNamed = (pattern: RegExp) =>
    parameters.some(({ name }) => name.size === 1 && [...name].some((word) => pattern.test(word)))
  return isNamed(/^(?:dat|day)$/) && isNamed(/^tim$/)
}

/** Parameters whose value can be a kind of thing: 'order a pizza'. */
const thingNames = stems('item product thing object task topic query term keyword text')
const thingNotes = stems('item product thing object')
/** Parameters whose value can be an adjective of the tool's noun: 'a classical concert'. */
const kindNames = stems('genre type kind style category cuisine color colour size mood mode level flavor flavour')

/** 'a flight', 'my account': the words of a tool, rather than a value for it. */
function isKindOfThing({ name, notes, role }: Parameter, { article, tokens }: Piece, kept: readonly Token[]): boolean {
  if (kept.every(isCapital)) return false
  if (article !== 'a') return article === 'the' && /path|email|url|id/.test(role)
  if (kept.at(-1) !== tokens.at(-1) && meets(name, kindNames)) return false
  return role !== 'content' && !meets(name, thingNames) && !meets(notes, thingNotes)
}
