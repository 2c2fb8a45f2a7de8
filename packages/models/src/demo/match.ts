import type { Clause, VerbTest } from './clauses.ts'
import { fill } from './fill.ts'
import type { Filled } from './fill.ts'
import { piecesOf, verbOf } from './pieces.ts'
import type { Piece } from './pieces.ts'
import type { Tool } from './tools.ts'
import { impliedBy, isStopWord, isVerb, isWeak, related, stem, wordsOf } from './words.ts'

/** A tool that fits a clause, with what the clause says about its arguments. */
export interface Match {
  readonly tool: Tool
  readonly filled: Filled
  readonly score: number
}

// What a word that agrees is worth, by where the tool has it, and what disagreement costs.
const worth = {
  name: 5,
  verb: 1.5,
  description: 2,
  parameter: 1.2,
  note: 0.8,
  unmatchedName: -0.7,
  missingValue: -1.5,
  otherObject: -4,
  unusedValue: -1,
}

/** Below this a tool does not fit: one word of a description, or a common verb without its object. */
const enough = 2.5

/** Can a word begin a request to these tools? Verbs can, and the words of the tools' names. */
export function verbTest(tools: readonly Tool[]): VerbTest {
  const names = new Set(tools.flatMap(({ name }) => [...name]))
  const parameters = new Set(tools.flatMap(({ parameterNames }) => [...parameterNames]))
  // 'message' is a verb, and a noun where a tool has a parameter of that name.
  return (root, asNoun = false) =>
    !isStopWord(root) && (names.has(root) ? !asNoun || !isVerb(root) : !asNoun && isVerb(root) && !parameters.has(root))
}

/** The tools by how well they fit, the best first. The order of the tools decides between equals. `about` is the tool whose result a clause is about. */
export function rank(clause: Clause, tools: readonly Tool[], startsRequest: VerbTest, about?: Tool): Match[] {
  const verb = verbOf(clause, startsRequest)
  const pieces = piecesOf(clause, startsRequest)
  const topics = [...(about?.name ?? [])].filter((word) => !isVerb(word))
  const words = new Set([...rootsOf(clause, verb), ...topics])
  const matches = tools.map((tool) => {
    const filled = fill(tool, clause, verb, pieces)
    const other = wantsOther(clause.tokens[0]?.start, pieces[0], tool, filled, words, tools) ? worth.otherObject : 0
    const unused = pieces.filter((piece) => isDistinct(piece) && !piece.tokens.some((token) => filled.used.has(token))).length
    return {
      tool,
      filled,
      score:
        filled.evidence +
        unused * worth.unusedValue +
        (about ? 0 : filled.missing.length * worth.missingValue) +
        likeness(tool, filled, verb, words, tools) +
        other,
    }
  })
  return matches.toSorted((a, b) => b.score - a.score)
}

/** A piece that someone meant as a value, whatever the tool. */
function isDistinct({ kind }: Piece): boolean {
  return /^(?:quoted|code|url|email|math|path)$/.test(kind)
}

/** The tool that fits best, if one does. */
export function match(clause: Clause, tools: readonly Tool[], startsRequest: VerbTest, about?: Tool): Match | undefined {
  const [best] = rank(clause, tools, startsRequest, about)
  return best && best.score >= enough ? best : undefined
}

/** How much the words of a clause are those of a tool. A word that few tools have tells more. */
function likeness(tool: Tool, filled: Filled, verb: string, words: ReadonlySet<string>, tools: readonly Tool[]): number {
  const spent = new Set<string>()
  let sum = 0
  for (const own of tool.name) {
    const [best, alike] = closest(own, words)
    if (alike === 0) {
      const isFilled = [...filled.values.keys()].some(({ name }) => name.has(own))
      if (!isWeak(own) && !isStopWord(own) && !isFilled) sum += worth.unmatchedName
      continue
    }
    spent.add(best)
    const weight = isWeak(own) || isWeak(best) || isStopWord(own) ? 0.3 : 1
    sum +=
      weight * alike * (worth.name * rarity(tools.filter(({ name }) => name.has(own)).length) + (best === verb ? worth.verb : 0))
  }
  for (const word of words) {
    if (spent.has(word) || isStopWord(word)) continue
    const described =
      closest(word, tool.description)[1] *
      worth.description *
      rarity(tools.filter(({ description }) => description.has(word)).length)
    const best = Math.max(described, tool.parameterNames.has(word) ? worth.parameter : 0, tool.notes.has(word) ? worth.note : 0)
    sum += best * (isWeak(word) ? 0.3 : 1)
  }
  return sum
}

function rarity(count: number): number {
  return count > 1 ? 1 / (1 + 0.3 * Math.log2(count)) : 1
}

/** Is the clause about a thing of another kind: a flight, where the tool books tables? */
function wantsOther(
  start: number | undefined,
  object: Piece | undefined,
  tool: Tool,
  filled: Filled,
  words: ReadonlySet<string>,
  tools: readonly Tool[],
): boolean {
  const nouns = [...tool.name].filter(
    (word) => !isVerb(word) && !isStopWord(word) && !isWeak(word) && !tool.parameterNames.has(word),
  )
  if (!nouns.some((noun) => closest(noun, words)[1] === 0)) return false
  if (object?.kind !== 'phrase' || object.lead !== '' || object.tokens[0]?.start === start) return false
  const belongsElsewhere = object.tokens.some(({ root }) => tools.some((other) => other !== tool && other.name.has(root)))
  if (!belongsElsewhere && object.tokens.some((token) => filled.used.has(token))) return false
  const known = [...tool.name, ...tool.description, ...tool.parameterNames, ...tool.notes]
  return object.tokens.every(({ root }) => root === '' || closest(root, known)[1] < 0.5)
}

/** The stems of a clause: of its words, and of what its values are by kind. */
function rootsOf({ tokens }: Clause, verb: string): Set<string> {
  const words = tokens
    .filter(({ kind, text }) => kind === 'word' || /^[A-Z]+$/.test(text))
    .flatMap(({ text }) => wordsOf(text).map(stem))
  const implied = [
    ...words.flatMap(impliedBy),
    ...tokens.flatMap(({ kind, text }) => (kind === 'path' && /\.\w+$/.test(text) ? ['fil'] : [])),
  ]
  return new Set([...(verb ? [verb, ...words.slice(1)] : words), ...implied])
}

function closest(word: string, words: Iterable<string>): readonly [string, number] {
  let best: readonly [string, number] = ['', 0]
  for (const other of words) {
    const alike = isStopWord(word) === isStopWord(other) ? related(word, other) : 0
    if (alike > best[1]) best = [other, alike]
  }
  return best
}
