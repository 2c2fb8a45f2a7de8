import { opensFreeText, textOfClause } from './clauses.ts'
import type { Clause, VerbTest } from './clauses.ts'
import type { Token, TokenKind } from './tokens.ts'
import { isStopWord } from './words.ts'

/** A stretch of a clause that may be the value of a parameter. Pieces overlap: who takes one rules out those that share its tokens. */
export interface Piece {
  /** Beyond the kinds of tokens: plain words, capitalised ones, what follows a number, a date with its time, free text to the end. */
  readonly kind: TokenKind | 'phrase' | 'name' | 'unit' | 'moment' | 'tail'
  readonly text: string
  readonly tokens: readonly Token[]
  /** The preposition (or 'named', 'saying', ':') that leads it, '' for the object of the verb. */
  readonly lead: string
  /** The stems of up to three words before it, the nearest last. */
  readonly before: readonly string[]
  /** The stem of the word after it. */
  readonly after: string
  /** How it continues the piece before it: 'a, b and c'. */
  readonly joined: ',' | 'and' | ''
  /** 'a' for an indefinite or possessive article: it names a kind of thing rather than one thing. */
  readonly article: 'a' | 'the' | ''
}

const leads = new Set(
  `to from into in on at for of by with about as named called titled labeled labelled saying containing matching under between until till through
   since after before within inside over above via using near around because than per against regarding is are equals`.split(
    /\s+/,
  ),
)

/** Is a word a preposition, or another that leads a value? */
export function isLead(word: string): boolean {
  return leads.has(word.toLowerCase())
}

/** The verb that a clause begins with; '' when it begins otherwise. 'look for', 'look at' and 'tell me' are verbs of their own. */
export function verbOf({ tokens: [first, second] }: Clause, isVerb: VerbTest): string {
  if (first?.kind !== 'word' || !isVerb(first.root)) return ''
  if (/^(?:tell|giv)$/.test(first.root) && /^(?:me|us)$/i.test(second?.text ?? '')) return 'get'
  if (first.root !== 'look') return first.root
  return /^(?:at|into)$/i.test(second?.text ?? '') ? 'read' : 'find'
}

/** The pieces of a clause, in order. */
export function piecesOf(clause: Clause, isVerb: VerbTest): Piece[] {
  const { tokens } = clause
  const start = /^look up\b/i.test(textOfClause(clause)) ? 2 : verbOf(clause, isVerb) ? 1 : 0
  const pieces: Piece[] = []
  let run: Token[] = []
  let lead = ''
  let joined: Piece['joined'] = ''

  function add(kind: Piece['kind'], part: readonly Token[], value?: string): void {
    const [first, last] = [part[0], part.at(-1)]
    const next = tokens[tokens.indexOf(last as Token) + 1]
    // In 'limit = 5' the word is a label.
    if (!first || !last || (next?.text === '=' && first.kind === 'word')) return
    const at = tokens.indexOf(first)
    pieces.push({
      kind,
      text: value ?? textOfClause(clause, part),
      tokens: part,
      lead,
      before: wordsBefore(tokens, at, first === tokens[0] ? 0 : start),
      after: next?.root ?? '',
      joined,
      article: articleOf(tokens[at - 1]),
    })
  }
  function close(): void {
    const part = withoutStopWords(run)
    const number = part.findIndex(({ kind }) => kind === 'number')
    if (part.length > 1 || part[0]?.kind === 'word') add(isName(part, tokens) ? 'name' : 'phrase', part)
    if (number >= 0) add('unit', part.slice(number + 1))
    if (run.length > 0) joined = ''
    run = []
  }

  for (let at = start; at < tokens.length; at++) {
    const token = tokens[at] as Token
    const word = token.text.toLowerCase()
    if (opensFreeText(tokens.slice(0, at), token) && at + 1 < tokens.length) {
      close()
      lead = word
      add('tail', word === 'to' ? beforeDate(tokens.slice(at + 1)) : tokens.slice(at + 1))
    } else if (at === start && /^(?:is|are)$/.test(word)) {
      // 'what is …' sets no value.
      continue
    } else if ((token.kind === 'word' && isLead(word)) || word === ':' || word === '=') {
      close()
      // 'in Paris and in Rome' goes on with the list.
      if (word !== lead || !isSeparator(tokens[at - 1])) joined = ''
      lead = word === '=' ? ':' : word
    } else if (word === ',' && /^[A-Z]{2}$/.test(tokens[at + 1]?.text ?? '') && /^\p{Lu}/u.test(run.at(-1)?.text ?? '')) {
      // 'Portland, OR' is one name.
      continue
    } else if (isSeparator(token)) {
      close()
      joined = word === ',' ? ',' : 'and'
    } else if (token.kind === 'word') {
      if (articleOf(token)) close()
      run.push(token)
    } else if (token.kind === 'number' || token.kind === 'identifier' || /^[A-Z]{3}$/.test(token.text)) {
      add(token.kind === 'mark' ? 'identifier' : token.kind, [token], token.text)
      run.push(token)
    } else if (token.kind === 'mark') {
      if (word !== '°') close()
    } else {
      close()
      add(token.kind, [token], token.text)
      joined = ''
      if (!isSeparator(tokens[at + 1])) lead = ''
    }
  }
  close()
  return [...momentsOf(clause, pieces), ...pieces]
}

/** 'tomorrow' and '3pm' in 'tomorrow at 3pm' are also one piece. */
function momentsOf(clause: Clause, pieces: readonly Piece[]): Piece[] {
  return pieces.flatMap((piece, index) => {
    const next = pieces[index + 1]
    if (!next || ![piece.kind, next.kind].includes('date') || ![piece.kind, next.kind].includes('time')) return []
    const [from, to] = [clause.tokens.indexOf(piece.tokens[0] as Token), clause.tokens.indexOf(next.tokens[0] as Token)]
    if (to - from > 2) return []
    const tokens = clause.tokens.slice(from, to + 1)
    return [{ ...piece, kind: 'moment', tokens, text: textOfClause(clause, tokens), after: next.after } satisfies Piece]
  })
}

/** The words that say what a value is: up to its preposition, and before one that sets a value ('priority is high', 'colour to red', 'a cost of 50'). */
export function wordsBefore(tokens: readonly Token[], at: number, start: number): string[] {
  const before: string[] = []
  for (let i = at - 1; i >= start && before.length < 3; i--) {
    const { kind, text, root } = tokens[i] as Token
    if (kind !== 'mark') before.unshift(root || text)
    const isNear = before.length === 1 && /^of$/i.test(text) && tokens[at]?.kind === 'number'
    if (isLead(text) && !isNear && !/^(?:is|are|equals|to)$/i.test(text)) break
  }
  return before
}

/** 'water the plants' of 'water the plants on Friday'. */
function beforeDate(tokens: readonly Token[]): readonly Token[] {
  const date = tokens.findIndex(({ kind }) => kind === 'date' || kind === 'time')
  if (date < 1) return tokens
  return tokens.slice(0, isLead(tokens[date - 1]?.text ?? '') ? date - 1 : date)
}

function isName(part: readonly Token[], tokens: readonly Token[]): boolean {
  return part.every((token) => token.kind !== 'word' || (/^\p{Lu}/u.test(token.text) && token !== tokens[0]))
}

function withoutStopWords(run: readonly Token[]): readonly Token[] {
  const first = run.findIndex(({ text }) => !isStopWord(text))
  return first < 0 ? [] : run.slice(first, run.findLastIndex(({ text }) => !isStopWord(text)) + 1)
}

function articleOf(token: Token | undefined): Piece['article'] {
  const word = token?.text.toLowerCase() ?? ''
  return word === 'the' ? 'the' : /^(?:an?|my|our|your|some|any)$/.test(word) ? 'a' : ''
}

function isSeparator(token: Token | undefined): boolean {
  return token !== undefined && /^(?:,|and|or|&)$/i.test(token.text)
}
