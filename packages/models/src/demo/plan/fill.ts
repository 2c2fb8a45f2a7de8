import type { Json, JsonObject } from '@koagent/core'
import { textOfClause } from '../words/clauses.ts'
import type { Clause } from '../words/clauses.ts'
import { wordsBefore } from '../words/pieces.ts'
import type { Piece } from '../words/pieces.ts'
import type { Token } from '../words/tokens.ts'
import { isStopWord, related, stem, wordsOf } from '../words/words.ts'
import { unitScore } from './affinity.ts'
import { fit } from './fit.ts'
import type { Fit } from './fit.ts'
import { extended, isOnePlace, restOfList } from './lists.ts'
import type { Parameter, Tool } from './tools.ts'
import { assumption, switched } from './unsaid.ts'
import { unitOf } from './values.ts'

/** What a clause says about the arguments of one tool. */
export interface Filled {
  readonly values: ReadonlyMap<Parameter, Json>
  /** What a required parameter is by default. */
  readonly assumed: ReadonlyMap<Parameter, Json>
  /** Required, and neither said nor assumed. */
  readonly missing: readonly Parameter[]
  /** A parameter that the words give several values, one a call: 'in Paris and Rome'. */
  readonly each?: { readonly parameter: Parameter; readonly values: readonly Json[] }
  /** How well the words fit the parameters, beyond what the tool's name tells. */
  readonly evidence: number
  /** The tokens that became values. */
  readonly used: ReadonlySet<Token>
}

/** Gives the parameters of a tool the values that a clause holds. `verb` is the clause's, and `pieces` are. */
export function fill(tool: Tool, clause: Clause, verb: string, pieces: readonly Piece[]): Filled {
  const isQuestion = /^(?:what|who|how|which|when|where)$/.test(verb)
  const fits = tool.parameters
    .flatMap((parameter) => candidates(parameter, clause, verb, pieces).map((piece) => fit(parameter, piece, tool)))
    .filter((one) => one !== undefined)
    // What a question asks for is seldom what it gives.
    .map((one) => (isQuestion && one.piece.lead === '' && one.piece.kind === 'phrase' ? { ...one, score: one.score - 0.3 } : one))
    .filter(({ parameter, piece, score }) => score >= (parameter.required ? 1 : isObjectOf(tool, piece) ? 1 : 4))
    .toSorted((a, b) => b.score - a.score)
  const { chosen, used } = choose(fits, tool, clause, pieces)

  const values = new Map<Parameter, Json>()
  const assumed = new Map<Parameter, Json>()
  let each: Filled['each']
  for (const parameter of tool.parameters) {
    const one = chosen.get(parameter)
    if (!one) {
      const said = switched(parameter, clause)
      const fallback = assumption(parameter, tool)
      if (said !== undefined) values.set(parameter, said)
      else if (fallback !== undefined) assumed.set(parameter, fallback)
      continue
    }
    const all = [one.value, ...restOfList(one, pieces, fits, used).map(({ value }) => value)]
    if (parameter.list) values.set(parameter, all)
    else if (isOnePlace(one, pieces, all)) values.set(parameter, all.join(', '))
    else if (all.length > 1) {
      values.set(parameter, one.value)
      each ??= { parameter, values: all }
    } else values.set(parameter, extended(one, clause, used))
  }
  const missing = tool.parameters.filter((parameter) => parameter.required && !values.has(parameter) && !assumed.has(parameter))
  return { values, assumed, missing, evidence: evidenceOf(chosen.values()), used, ...(each && { each }) }
}

/** The arguments as the tool's schema nests them. */
export function argumentsOf(values: ReadonlyMap<Parameter, Json>): JsonObject {
  const args: { [key: string]: Json } = {}
  for (const [{ path }, value] of values) {
    let at = args
    for (const key of path.slice(0, -1)) at = (at[key] ??= {}) as typeof args
    at[path.at(-1) as string] = value
  }
  return args
}

/** The best fits that do not contend for one parameter or one word. */
function choose(
  fits: readonly Fit[],
  tool: Tool,
  clause: Clause,
  pieces: readonly Piece[],
): { chosen: Map<Parameter, Fit>; used: Set<Token> } {
  const chosen = new Map<Parameter, Fit>()
  const used = new Set<Token>()
  const needsNumber = () => tool.parameters.some((one) => one.type === 'number' && one.required && !chosen.has(one))
  for (const one of fits) {
    const { parameter, piece, tokens } = one
    if (chosen.has(parameter) || tokens.some((token) => used.has(token))) continue
    // '5 miles' is an amount and a unit here.
    if (needsNumber() && parameter.type !== 'number' && piece.kind !== 'tail' && tokens.some(({ kind }) => kind === 'number'))
      continue
    chosen.set(parameter, one)
    // The lines of '20 lines' are no value of their own.
    const isUnit = unitScore(parameter, unitOf(piece), tool) > 2.5 || parameter.notes.has(unitOf(piece))
    const last = clause.tokens.indexOf(piece.tokens.at(-1) as Token)
    if (isUnit) for (const token of clause.tokens.slice(last + 1, last + 2)) used.add(token)
    const members = parameter.list ? restOfList(one, pieces, fits, used) : []
    for (const token of [one, ...members].flatMap((member) => member.tokens)) used.add(token)
  }
  return { chosen, used }
}

/** A tool that requires nothing still wants to know what it is about: 'vacuum the kitchen'. */
function isObjectOf(tool: Tool, { kind, lead }: Piece): boolean {
  return lead === '' && /^(?:phrase|name|quoted)$/.test(kind) && !tool.parameters.some(({ required }) => required)
}

function evidenceOf(fits: Iterable<Fit>): number {
  let sum = 0
  for (const { base, score } of fits) sum += base >= 8 ? 4.5 : base >= 5 ? 2 : score >= 4.5 ? 1.2 : 0.3
  return sum
}

function candidates(parameter: Parameter, clause: Clause, verb: string, pieces: readonly Piece[]): readonly Piece[] {
  if (parameter.choices)
    return choicePieces(parameter.choices, clause, pieces).toSorted(
      (a, b) => Number(isFirst(a, clause)) - Number(isFirst(b, clause)),
    )
  if (parameter.role === 'math') {
    const from = clause.tokens.findIndex(({ kind }) => kind === 'number')
    return from < 0 ? pieces : [...pieces, tail(clause, clause.tokens.slice(from))]
  }
  if (parameter.role !== 'command' || related(verb, 'run') < 0.5) return pieces
  // 'run git status': everything after the verb, unless that describes the command instead of spelling it.
  const rest = clause.tokens.slice(clause.tokens[1]?.root === 'command' ? 2 : 1)
  if (!rest[0] || isStopWord(rest[0].text)) return pieces
  return [...pieces, tail(clause, rest)]
}

function tail(clause: Clause, tokens: readonly Token[]): Piece {
  return { kind: 'tail', text: textOfClause(clause, tokens), tokens, lead: '', before: [], after: '', joined: '', article: '' }
}

/** 'merge … using squash': what the verb says counts last. */
function isFirst({ tokens }: Piece, clause: Clause): boolean {
  return tokens[0] === clause.tokens[0]
}

/** The places where a clause names one of the choices. */
function choicePieces(choices: readonly Json[], clause: Clause, pieces: readonly Piece[]): Piece[] {
  const { tokens } = clause
  return choices.flatMap((choice) => {
    const wanted = wordsOf(String(choice)).map(stem)
    return tokens.flatMap((token, at): Piece[] => {
      const part = tokens.slice(at, at + wanted.length)
      const found = wordsOf(part.map(({ text }) => text).join(' ')).map(stem)
      if (wanted.length === 0 || found.join(' ') !== wanted.join(' ')) return []
      const { lead = '', joined = '' } = pieces.find((piece) => piece.tokens.includes(token)) ?? {}
      const after = tokens[at + part.length]?.root ?? ''
      return [
        {
          kind: 'word',
          text: String(choice),
          tokens: part,
          lead,
          before: wordsBefore(tokens, at, 0),
          after,
          joined,
          article: '',
        },
      ]
    })
  })
}
