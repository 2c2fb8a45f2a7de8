import type { Piece } from '../words/pieces.ts'
import type { Token } from '../words/tokens.ts'
import { isStopWord, isVerb, related, stems } from '../words/words.ts'
import type { Parameter, Role, Tool } from './tools.ts'

/** Nouns that only introduce a value: 'the word middleware', 'the docs folder'. */
const nounsFor: Partial<Record<Role, ReadonlySet<string>>> = {
  path: stems('path file dir directory folder'),
  query: stems('word term phrase string keyword text'),
}

/** Nouns that belong to the name before them: 'living room', 'central station'. */
const compoundNouns = stems('room street road avenue square station park airport hotel')

/** What of a piece may be the value. */
export interface Trimmed {
  readonly tokens: readonly Token[]
  /** The parameter's name stood beside it. */
  readonly named: boolean
}

/** A piece without the words that belong to the tool: 'Hello' of 'subject Hello', nothing of 'the weather'. */
export function trimmed(piece: Piece, parameter: Parameter, tool: Tool): Trimmed | undefined {
  const { tokens } = piece
  if (piece.kind !== 'phrase' && piece.kind !== 'name') return { tokens, named: false }
  const isObject = piece.lead === ''
  const names = (root = '') => parameter.name.has(root) || (nounsFor[parameter.role]?.has(root) ?? false)
  const isKnown = (root: string) => tool.name.has(root) || tool.description.has(root) || tool.parameterNames.has(root)

  // In 'the used Ford Transit van' the capitals are the name, and what else the tool knows describes it.
  const hasName = tokens.some(isCapital) && !tokens.every(isCapital)
  const told = hasName ? [...tool.description, ...tool.notes] : []
  function isAround(token: Token): boolean {
    if (names(token.root) || (isObject && tool.name.has(token.root))) return true
    return !isCapital(token) && told.some((word) => related(word, token.root) >= 0.5)
  }
  function isBehind(token: Token, isOnly: boolean): boolean {
    // 'mean' in 'what does serendipity mean' is the verb.
    if (isObject && !isOnly && isVerb(token.root) && [...tool.name].some((word) => related(word, token.root) >= 0.6)) return true
    return isAround(token) && (isObject || parameter.role === 'path' || !compoundNouns.has(token.root))
  }

  const at = (index: number) => tokens[index] as Token
  let from = 0
  let to = tokens.length
  while (from < to && (isAround(at(from)) || (from > 0 && isStopWord(at(from).text)))) from++
  while (to > from && isBehind(at(to - 1), to - from === 1)) to--
  const kept = tokens.slice(from, to)
  const named = names(tokens[from - 1]?.root) || names(tokens[to]?.root)
  if (kept.length === 0 || (piece.kind === 'phrase' && !named && kept.every(({ root }) => isKnown(root)))) return undefined
  return { tokens: kept, named }
}

export function isCapital({ kind, text }: Token): boolean {
  return kind !== 'word' || /^\p{Lu}/u.test(text)
}
