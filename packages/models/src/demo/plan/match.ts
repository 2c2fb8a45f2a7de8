import type { Clause, VerbTest } from '../words/clauses.ts'
import { piecesOf, verbOf } from '../words/pieces.ts'
import type { Piece } from '../words/pieces.ts'
import { impliedBy, isStopWord, isVerb, isWeak, related, stem, wordsOf } from '../words/words.ts'
import { fill } from './fill.ts'
import type { Filled } from './fill.ts'
import type { Tool } from './tools.ts'

/** A tool that fits a clause, with what the clause says about its arguments. */
export interface Match {
  readonly tool: Tool
  readonly filled: Filled
  readonly score: number
}

/** A clause as it is matched with tools. */
interface Reading {
  readonly clause: Clause
  readonly verb: string
  readonly pieces: readonly Piece[]
  /** The stems of its words, and of what they are about. */
  readonly words: ReadonlySet<string>
  readonly tools: readonly Tool[]
}

// What a word that agrees is worth, by where the tool has it, and what disagreement costs.
const worth = { name: 5, verb: 1.5, description: 2, parameter: 1.2, note: 0.8 }
const cost = { unmatchedName: 0.7, missingValue: 1.5, unusedValue: 1, otherObject: 4 }

/** Below this a tool does not fit: one word of a description, or a common verb without its object. */
const enough = 2.5

/** Can a word begin a request to these tools? Verbs can, and the words of the tools' names. */
export function verbTest(tools: readonly Tool[]): VerbTest {
  const names = new Set(tools.flatMap(({ name }) => [...name]))
  const parameters = new Set(tools.flatMap(({ parameterNames }) => [...parameterNames]))
  return (root, asNoun = false) => {
    if (isStopWord(root)) return false
    if (names.has(root)) return !asNoun || !isVerb(root)
    // 'message' is a verb, and a noun where a tool has a parameter of that name.
    return !asNoun && isVerb(root) && !parameters.has(root)
  }
}

/**
 * The tools by how well they fit, the best first. The order of the tools decides between equals.
 *
 * @param about the tool whose result the clause is about: it may fill what is missing
 */
export function rank(clause: Clause, tools: readonly Tool[], startsRequest: VerbTest, about?: Tool): Match[] {
  const verb = verbOf(clause, startsRequest)
  const topics = [...(about?.name ?? [])].filter((word) => !isVerb(word))
  const words = new Set([...rootsOf(clause, verb), ...topics])
  const reading = { clause, verb, pieces: piecesOf(clause, startsRequest), words, tools }
  const matches = tools.map((tool) => {
    const filled = fill(tool, clause, verb, reading.pieces)
    const missing = about ? 0 : filled.missing.length * cost.missingValue
    const unused = reading.pieces.filter((piece) => isUnused(piece, filled)).length * cost.unusedValue
    const other = wantsOther(reading, tool, filled) ? cost.otherObject : 0
    return { tool, filled, score: filled.evidence + likeness(reading, tool, filled) - missing - unused - other }
  })
  return matches.toSorted((a, b) => b.score - a.score)
}

/** The tool that fits best, if one does. */
export function match(clause: Clause, tools: readonly Tool[], startsRequest: VerbTest, about?: Tool): Match | undefined {
  const [best] = rank(clause, tools, startsRequest, about)
  return best && best.score >= enough ? best : undefined
}

/** How much the words of a clause are those of a tool. A word that few tools have tells more. */
function likeness({ words, verb, tools }: Reading, tool: Tool, filled: Filled): number {
  const spent = new Set<string>()
  let sum = 0
  for (const own of tool.name) {
    const [best, alike] = closest(own, words)
    const isDull = isWeak(own) || isStopWord(own)
    if (alike === 0) {
      const isFilled = [...filled.values.keys()].some(({ name }) => name.has(own))
      if (!isDull && !isFilled) sum -= cost.unmatchedName
      continue
    }
    spent.add(best)
    const value = worth.name * rarity(tools.filter(({ name }) => name.has(own))) + (best === verb ? worth.verb : 0)
    sum += value * alike * (isDull || isWeak(best) ? 0.3 : 1)
  }
  for (const word of words) {
    if (spent.has(word) || isStopWord(word)) continue
    const others = tools.filter(({ description }) => description.has(word))
    const described = worth.description * closest(word, tool.description)[1] * rarity(others)
    const best = Math.max(described, tool.parameterNames.has(word) ? worth.parameter : 0, tool.notes.has(word) ? worth.note : 0)
    sum += best * (isWeak(word) ? 0.3 : 1)
  }
  return sum
}

function rarity({ length }: readonly Tool[]): number {
  return length > 1 ? 1 / (1 + 0.3 * Math.log2(length)) : 1
}

/** Did somebody mean a piece as a value, whatever the tool, and the tool takes it not? */
function isUnused({ kind, tokens }: Piece, { used }: Filled): boolean {
  return /^(?:quoted|code|url|email|math|path)$/.test(kind) && !tokens.some((token) => used.has(token))
}

/** Is the clause about a thing of another kind: a flight, where the tool books tables? */
function wantsOther({ clause, pieces, words, tools }: Reading, tool: Tool, { used }: Filled): boolean {
  const nouns = [...tool.name].filter(
    (word) => !isVerb(word) && !isStopWord(word) && !isWeak(word) && !tool.parameterNames.has(word),
  )
  if (!nouns.some((noun) => closest(noun, words)[1] === 0)) return false
  const [object, ...others] = pieces
  if (object?.kind !== 'phrase' || object.lead !== '' || object.tokens[0] === clause.tokens[0]) return false
  const belongsElsewhere = object.tokens.some(({ root }) => tools.some((other) => other !== tool && other.name.has(root)))
  if (!belongsElsewhere && object.tokens.some((token) => used.has(token))) return false
  const known = [...tool.name, ...tool.description, ...tool.parameterNames, ...tool.notes]
  // In 'the names of rivers' the rivers count, too.
  const whole = [object, ...others.filter(({ lead }) => lead === 'of')].flatMap(({ tokens }) => tokens)
  return whole.every(({ root }) => root === '' || closest(root, known)[1] < 0.5)
}

function rootsOf({ tokens }: Clause, verb: string): string[] {
  const words = tokens
    .filter(({ kind, text }) => kind === 'word' || /^[A-Z]+$/.test(text))
    .flatMap(({ text }) => wordsOf(text).map(stem))
  const files = tokens.some(({ kind, text }) => kind === 'path' && /\.\w+$/.test(text)) ? [stem('file')] : []
  return [...(verb ? [verb, ...words.slice(1)] : words), ...impliedBy(words), ...files]
}

function closest(word: string, words: Iterable<string>): readonly [string, number] {
  let best: readonly [string, number] = ['', 0]
  for (const other of words) {
    const alike = isStopWord(word) === isStopWord(other) ? related(word, other) : 0
    if (alike > best[1]) best = [other, alike]
  }
  return best
}
