import { clausesOf, textOfClause } from '../words/clauses.ts'
import type { Clause, VerbTest } from '../words/clauses.ts'
import { isStopWord } from '../words/words.ts'
import { referenceOf } from './earlier.ts'
import type { Reference } from './earlier.ts'
import { match, verbTest } from './match.ts'
import type { Match } from './match.ts'
import type { Tool } from './tools.ts'

/** A clause with its tool, and what it refers to. */
export interface Ask {
  readonly clause: Clause
  readonly match?: Match | undefined
  readonly reference?: Reference | undefined
}

/** The parts of a request, each with the tool that fits. */
export function asksOf(request: string, tools: readonly Tool[]): Ask[] {
  const startsRequest = verbTest(tools)
  const asks: Ask[] = []
  for (const clause of clausesOf(request, startsRequest)) {
    const reference =
      asks.length > 0 ? (referenceOf(clause) ?? topicOf(clause, asks, match(clause, tools, startsRequest))) : undefined
    const bare = reference ? { ...clause, tokens: clause.tokens.filter((token) => !reference.tokens.includes(token)) } : clause
    const previous = asks.at(-1)
    const found = match(bare, tools, startsRequest, reference && previous?.match?.tool)
    const more =
      !previous || (found && (!reference || found.tool !== previous.match?.tool))
        ? undefined
        : continued(previous, clause, tools, startsRequest)
    const other = found || more ? [] : rephrased(clause, tools, startsRequest)
    if (more) asks[asks.length - 1] = more
    else asks.push(...(other.length > 0 ? other : [{ clause, match: found, reference }]))
  }
  // 'Thank you.' asks for nothing.
  const meant = asks.filter(
    ({ clause, match }) => match || clause.tokens.some(({ kind, text }) => kind !== 'mark' && !isStopWord(text)),
  )
  return meant.length > 0 ? meant : asks
}

/** 'Get the forecast … and mail the forecast': the thing that an earlier tool gave, in a call of another. */
function topicOf({ tokens }: Clause, earlier: readonly Ask[], found: Match | undefined): Reference | undefined {
  for (const [at, token] of tokens.entries()) {
    if (!/^the$/i.test(tokens[at - 1]?.text ?? '') || found?.tool.name.has(token.root)) continue
    const source = earlier.findLast(({ match }) => match?.tool.name.has(token.root))?.match?.tool.spec.name
    if (source !== undefined) return { at: 0, ordinal: false, tokens: [token], toolName: source }
  }
  return undefined
}

/** 'Create a ticket and assign it to Bob' is one call of a tool with an assignee: a clause that no tool fits may say more about the one before. */
function continued(previous: Ask, clause: Clause, tools: readonly Tool[], startsRequest: VerbTest): Ask | undefined {
  if (!previous.match) return undefined
  const whole = { ...previous.clause, tokens: [...previous.clause.tokens, ...clause.tokens] }
  const again = match(whole, tools, startsRequest)
  const isMore =
    again?.tool === previous.match.tool && again.filled.values.size > previous.match.filled.values.size && !again.filled.each
  return isMore ? { ...previous, clause: whole, match: again } : undefined
}

/** The same question in words that tools are likelier to know; none unless tools fit. */
function rephrased(clause: Clause, tools: readonly Tool[], startsRequest: VerbTest): Ask[] {
  const asks = clausesOf(inOtherWords(textOfClause(clause)), startsRequest).map((one) => ({
    clause: one,
    match: match(one, tools, startsRequest),
  }))
  return asks.every(({ match }) => match) ? asks : []
}

function inOtherWords(text: string): string {
  const counted = /\bhow many ([\p{L}\d_-]+)/iu.exec(text)?.[1]
  if (counted) return `search for "${counted.replace(/s$/, '')}"`
  const isOverview = /\b(?:what|about|describe|explain|summari[sz]e|overview|tell|show|understand)\b/i.test(text)
  return isOverview && /\b(?:repo|repository|project|code ?base|folder|directory)\b/i.test(text)
    ? 'list the files, then read the readme'
    : ''
}
