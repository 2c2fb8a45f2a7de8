import { textOf } from '@koagent/core'
import type { Json, JsonObject, ToolResult } from '@koagent/core'
import type { Clause } from '../words/clauses.ts'
import { isObject } from './tools.ts'
import type { Parameter } from './tools.ts'
import { tokenize } from '../words/tokens.ts'
import type { Token } from '../words/tokens.ts'
import { meets, stems, wordsOf } from '../words/words.ts'

/** A call of this run, with its result. */
export interface Outcome {
  readonly toolName: string
  readonly args: JsonObject
  readonly result: ToolResult
}

/** What a clause says about an earlier result: 'it', or which of several. `at` counts from 0, -1 is the last. */
export interface Reference {
  readonly at: number
  readonly ordinal: boolean
  /** The tool whose result is meant, where the words name it. */
  readonly toolName?: string
  /** The words that say so. */
  readonly tokens: readonly Token[]
}

const ordinals: Readonly<Record<string, number>> = {
  first: 0,
  top: 0,
  second: 1,
  third: 2,
  fourth: 3,
  fifth: 4,
  last: -1,
  latest: -1,
}
const listingNames = stems('list ls search find grep query')
const pronouns = /^(?:it|that|this|them|those|these|him|her)$/i

/** Does a clause speak of what came before it: 'read it', 'open the second one', 'send the result to …'? */
export function referenceOf({ tokens }: Clause): Reference | undefined {
  for (const [at, token] of tokens.entries()) {
    const [previous, next] = [tokens[at - 1], tokens[at + 1]]
    if (token.kind !== 'word') continue
    const ordinal = ordinals[token.text.toLowerCase()]
    // 'the first 20 lines' counts something else.
    if (ordinal !== undefined && next?.kind !== 'number' && /^the$/i.test(previous?.text ?? ''))
      return { at: ordinal, ordinal: true, tokens: [token] }
    const isObject =
      !next ||
      next.kind !== 'word' ||
      /^(?:to|from|into|in|on|at|for|by|with|as|and|too|again|back|via|do|does|is|says|means|contains)$/i.test(next.text)
    const isResult =
      /^(?:results?|output|outcome|answer|contents?)$/i.test(token.text) && /^(?:the|its|that|this)$/i.test(previous?.text ?? '')
    const isTheirs = /^(?:his|her|their|its)$/i.test(token.text) && next?.kind === 'word'
    if (isResult || isTheirs || (at > 0 && pronouns.test(token.text) && isObject))
      return { at: 0, ordinal: false, tokens: [token] }
  }
  return undefined
}

/** The value that earlier calls hold for a parameter, the latest call first. */
export function pick(
  parameter: Parameter,
  { at, ordinal, toolName: source }: Reference,
  outcomes: readonly Outcome[],
): Json | undefined {
  for (const { toolName, args, result } of outcomes.toReversed()) {
    if (source !== undefined && toolName !== source) continue
    const key = parameter.path.at(-1) as string
    const lists = meets(stems(toolName), listingNames)
    if (!ordinal && !lists && args[key] !== undefined) return args[key]
    const found = fromValue(key, at, valueOf(result)) ?? fromText(parameter, at, ordinal, textOf(result))
    if (found !== undefined && (parameter.type !== 'number' || typeof found === 'number')) return found
  }
  return undefined
}

/** The field of this name in earlier results, the latest first. */
export function fieldOf(parameter: Parameter, outcomes: readonly Outcome[]): Json | undefined {
  for (const { result } of outcomes.toReversed()) {
    const found = fromValue(parameter.path.at(-1) as string, 0, valueOf(result))
    if (found !== undefined) return found
  }
  return undefined
}

/** The file that one of the words means, such as 'readme', going by the names that earlier results show. */
export function fileNamed(words: readonly string[], outcomes: readonly Outcome[]): string | undefined {
  const names = new Set(words.map((word) => word.toLowerCase()))
  const paths = outcomes.flatMap(({ result }) => entriesOf(textOf(result)))
  return paths.find((path) => names.has((path.split('/').at(-1) ?? '').toLowerCase().replace(/\.\w+$/, '')))
}

function valueOf({ value, content }: ToolResult): Json | undefined {
  if (value !== undefined) return value
  try {
    return JSON.parse(textOf({ content })) as Json
  } catch {
    return undefined
  }
}

/** The field whose name is the parameter's, at any depth: `id` of a user also answers `userId`. */
function fromValue(key: string, at: number, value: Json | undefined): Json | undefined {
  if (Array.isArray(value)) {
    const item = value.at(at) as Json | undefined
    return isObject(item) || Array.isArray(item) ? fromValue(key, at, item) : undefined
  }
  if (!isObject(value)) return undefined
  const wanted = wordsOf(key).join(' ')
  const same =
    Object.keys(value).find((name) => wordsOf(name).join(' ') === wanted) ??
    Object.keys(value).find((name) => wordsOf(key).at(-1) === name)
  const found = same === undefined ? undefined : value[same]
  if (found !== undefined && found !== null && typeof found !== 'object') return found
  for (const inner of Object.values(value)) {
    const deeper = fromValue(key, at, inner)
    if (deeper !== undefined) return deeper
  }
  return undefined
}

function fromText(parameter: Parameter, at: number, ordinal: boolean, text: string): Json | undefined {
  const kinds: Partial<Record<Parameter['role'], string>> = { email: 'email', url: 'url', time: 'date' }
  const kind = parameter.type === 'number' ? 'number' : kinds[parameter.role]
  if (parameter.role === 'path') return entriesOf(text).at(at)
  if (kind === undefined) {
    const whole = (ordinal ? linesOf(text).at(at) : text.trim()) || undefined
    // Prose is no id and no command.
    return /^(?:content|text|query)$/.test(parameter.role) || /^\S+$/.test(whole ?? '') ? whole : undefined
  }
  const found = tokenize(text)
    .filter((token) => token.kind === kind)
    .at(at)?.text
  return found !== undefined && kind === 'number' ? Number(found) : found
}

/** The paths of a listing or of search results, one a line: 'src/a.ts:12: text' is about src/a.ts. */
function entriesOf(text: string): string[] {
  const lines = linesOf(text)
  const paths = lines.map((line) => tokenize(line.replace(/:\d+(?::.*)?$/, '')).find(({ kind }) => kind === 'path')?.text)
  const shown = paths.filter((path) => path !== undefined)
  return shown.length > 0 ? shown : lines
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s+/, '').trim())
    .filter((line) => line !== '')
}
