import type { Json } from '@koagent/core'
import type { Clause } from '../words/clauses.ts'
import { isLead } from '../words/pieces.ts'
import type { Piece } from '../words/pieces.ts'
import type { Token } from '../words/tokens.ts'
import { isStopWord } from '../words/words.ts'
import type { Fit } from './fit.ts'
import { valueFor } from './values.ts'

const plainKinds = /^(?:phrase|name|unit)$/

/** The further members of the list that a value begins: 'Rome' in 'in Paris and Rome'. */
export function restOfList(one: Fit, pieces: readonly Piece[], fits: readonly Fit[], used: ReadonlySet<Token>): Fit[] {
  const members: Fit[] = []
  const { parameter, piece: first } = one
  let isPhrase = first.kind === 'phrase'
  for (const piece of pieces.slice(pieces.indexOf(first) + 1)) {
    if (piece.tokens.some((token) => first.tokens.includes(token))) continue
    if (piece.joined === '' || piece.lead !== first.lead || (!parameter.list && piece.tokens.some((token) => used.has(token))))
      break
    if (plainKinds.test(piece.kind) !== plainKinds.test(first.kind)) break
    const own = fits.find((other) => other.piece === piece && other.parameter === parameter)
    const value = own?.value ?? valueFor(parameter, piece, piece.text)
    if (value === undefined) break
    isPhrase ||= piece.kind === 'phrase'
    members.push({ ...one, piece, value, tokens: own?.tokens ?? piece.tokens })
  }
  // 'rock and roll' is one thing to look for.
  const isProse = parameter.role === 'query' || parameter.role === 'content'
  // 'on Friday, quietly' is no list.
  const isLoose = members.length === 1 && plainKinds.test(first.kind) && members[0]?.piece.joined === ',' && isPhrase
  return !parameter.list && ((isPhrase && isProse) || isLoose) ? [] : members
}

/** 'Paris, France' is one place, 'Paris and Rome' are two. */
export function isOnePlace({ piece }: Fit, pieces: readonly Piece[], all: readonly Json[]): boolean {
  return all.length === 2 && piece.kind === 'name' && pieces.find(({ text, joined }) => text === all[1] && joined)?.joined === ','
}

/** 'history of Rome' where 'history' was found: plain words go on through 'of', and in prose through everything that no parameter took. */
export function extended({ parameter, piece, tokens, value }: Fit, clause: Clause, used: ReadonlySet<Token>): Json {
  const last = tokens.at(-1)
  if (typeof value !== 'string' || parameter.choices || !last || !plainKinds.test(piece.kind)) return value
  const rest = clause.tokens.slice(clause.tokens.indexOf(last) + 1)
  const isOpen = parameter.role === 'query' || parameter.role === 'content' || /^(?:titled|named|called)$/.test(piece.lead)
  if (!isOpen && rest[0]?.text !== 'of') return value
  const stop = rest.findIndex((token) => used.has(token) || token.kind === 'date' || token.kind === 'time')
  const part = stop < 0 ? rest : rest.slice(0, stop)
  const end = part.findLast(({ text, kind }) => kind !== 'mark' && !isStopWord(text) && !isLead(text))?.end
  return end === undefined ? value : value + clause.source.slice(last.end, end)
}
