import { tokenize } from './tokens.ts'
import type { Token } from './tokens.ts'
import { stems } from './words.ts'

/** One thing that is asked for: 'read README.md'. */
export interface Clause {
  readonly tokens: readonly Token[]
  /** The whole request, which the tokens' places are about. */
  readonly source: string
  /** The words said that what stands before comes first: 'then', 'after that', a numbered list. */
  readonly ordered: boolean
}

const fillers = new Set(
  `and also please then finally now just afterwards afterward next after once could can would you i we want need to id like lets go ahead kindly
   first firstly second secondly third thirdly lastly plus but so hey hello hi ok okay that's done`.split(/\s+/),
)
const orderWords = new Set(['then', 'afterwards', 'afterward', 'finally', 'lastly', 'secondly', 'thirdly'])
const connectors = new Set([',', 'and', 'also', 'plus', '&', 'but'])
const endMarks = new Set(['.', '!', '?', ';', '…'])
const tellingVerbs = stems('tell remind note say message text write email mail notify inform remember ask reply post')

/** Can a word, given as its stem, begin a request? With `asNoun` only as the name of what is asked for. */
export type VerbTest = (root: string, asNoun?: boolean) => boolean

/** The parts of a request that each ask for one thing. `isVerb` says by its stem whether a word can begin such a part. */
export function clausesOf(request: string, isVerb: VerbTest): Clause[] {
  const tokens = tokenize(request)
  const clauses: Clause[] = []
  let current: Token[] = []
  let ordered = false
  let free = false

  const lower = (at: number) => tokens[at]?.text.toLowerCase() ?? ''
  const isEnd = (at: number) => !tokens[at] || tokens[at].kind === 'line' || endMarks.has(lower(at)) || connectors.has(lower(at))
  // A second thing to ask for may come with an article: 'the weather and the news in Rome'.
  const starts = (at: number): boolean =>
    tokens[at]?.kind === 'word' &&
    !isEnd(at + 1) &&
    (isVerb(tokens[at].root) || (lower(at) === 'the' && isVerb(tokens[at + 1]?.root ?? '', true)))
  function skip(at: number): number {
    while (
      tokens[at] &&
      (fillers.has(lower(at)) || lower(at) === ',') &&
      !(starts(at) && !connectors.has(lower(at)) && !orderWords.has(lower(at)))
    )
      at++
    return at
  }
  function flush(next: boolean): void {
    const kept = withoutFillers(current)
    if (kept.length > 0) clauses.push({ tokens: kept, source: request, ordered })
    ordered = kept.length > 0 ? next : ordered || next
    current = []
    free = false
  }

  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] as Token
    if (token.kind === 'line' || at === 0) {
      const first = token.kind === 'line' ? at + 1 : at
      const numbered =
        tokens[first]?.kind === 'number' && /^[.):]$/.test(lower(first + 1)) && tokens[first].end === tokens[first + 1]?.start
      const bullet = tokens[first]?.kind === 'mark' && /^[-*•–]$/.test(lower(first))
      if (token.kind === 'line' || numbered || bullet) {
        flush(numbered)
        at = first + (numbered ? 2 : bullet ? 1 : 0) - 1
        continue
      }
    }
    if (token.kind === 'mark' && endMarks.has(token.text)) flush(false)
    else if (token.kind === 'word' && orderWords.has(lower(at)) && (!free || starts(skip(at)))) flush(true)
    else if (token.kind === 'word' && lower(at) === 'after' && lower(at + 1) === 'that') {
      flush(true)
      at++
    } else if (!free && connectors.has(lower(at)) && starts(skip(at))) {
      const next = skip(at)
      flush(tokens.slice(at, next).some(({ text }) => orderWords.has(text.toLowerCase())))
      at = next - 1
    } else {
      free ||= opensFreeText(current, token)
      current.push(token)
    }
  }
  flush(false)
  return clauses
}

/** After 'saying', the colon of 'add a note: …', the 'that' of 'tell Bob that …' and the 'to' of 'remind me to …' people write what they like, verbs too. */
export function opensFreeText(before: readonly Token[], token: Token): boolean {
  const said = before.filter(({ kind }) => kind === 'word')
  if (said.length === 0) return false
  if (token.kind === 'mark')
    return token.text === ':' && !said.some(({ root }) => /^(?:follow|th(?:es|is)|step|task|thing)$/.test(root))
  if (/^(?:saying|says|because)$/i.test(token.text)) return true
  if (/^to$/i.test(token.text) && said.length > 1) return /^(?:remind|ask|tell|rememb)/.test(said[0]?.root ?? '')
  return /^that$/i.test(token.text) && tellingVerbs.has(said[0]?.root ?? '')
}

/** The words of a clause, or of some of its tokens, as they were written. */
export function textOfClause({ source, tokens }: Clause, part: readonly Token[] = tokens): string {
  return source.slice(part[0]?.start ?? 0, part.at(-1)?.end ?? 0)
}

function withoutFillers(tokens: readonly Token[]): Token[] {
  const isNoise = ({ kind, text }: Token) =>
    (kind === 'word' && fillers.has(text.toLowerCase())) || (kind === 'mark' && /^[,:–-]$/.test(text))
  const first = tokens.findIndex((token) => !isNoise(token))
  if (first < 0) return []
  const kept = tokens.slice(first)
  while (kept.at(-1)?.kind === 'mark' && /^[,:–-]$/.test(kept.at(-1)?.text ?? '')) kept.pop()
  return kept
}
