import type { Json } from '@koagent/core'
import type { Piece } from './pieces.ts'
import type { Token } from './tokens.ts'
import type { Parameter, Role, Tool } from './tools.ts'
import { isStopWord, isVerb, meets, related, stem, stems } from './words.ts'

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

/** How well each kind of piece suits each role. What is not listed does not, unless the words name the parameter. */
const suits: Readonly<Record<Role, Partial<Record<Piece['kind'], number>>>> = {
  path: { path: 5, quoted: 3, code: 3, identifier: 1, name: 1, word: 1 },
  email: { email: 6, name: 1, phrase: 0.6, quoted: 1 },
  url: { url: 6, path: 3, quoted: 2, code: 2 },
  command: { code: 6, quoted: 4, tail: 3 },
  math: { math: 8, code: 5, quoted: 4, tail: 2 },
  query: { quoted: 5, code: 4.5, identifier: 4, name: 1.5, phrase: 1, path: 1, number: 0.8, email: 1, url: 1, tail: 2 },
  content: { quoted: 5, tail: 5.5, code: 2, phrase: 1, name: 1, identifier: 1, unit: 0.6, path: 0.6, url: 0.6 },
  time: { moment: 6.5, date: 6, time: 5.5, quoted: 2, unit: 0.6 },
  id: { identifier: 4, number: 4, quoted: 3, code: 3, email: 1, name: 1, path: 0.6 },
  text: {
    quoted: 3,
    math: 2.5,
    name: 2.1,
    identifier: 2,
    code: 2,
    tail: 1.5,
    unit: 1.4,
    phrase: 1,
    path: 0.9,
    email: 0.9,
    url: 0.9,
    number: 0.7,
    date: 0.6,
    time: 0.6,
  },
}

/** The parameter names that a preposition points to. */
const pointsTo = new Map<string, ReadonlySet<string>>()
for (const [leads, names] of [
  [
    'to',
    'to target destination recipient receiver address street email user channel assignee language unit dest end arrival new output state status',
  ],
  ['into', 'to target destination language format unit dest output'],
  ['from', 'from source origin start sender since departure base input'],
  [
    'in',
    'location city place country region path directory folder dir language to target unit currency timezone room channel repo project file where',
  ],
  ['at', 'time location place address street venue start position'],
  ['on', 'date day topic subject platform when device'],
  ['for', 'query term pattern keyword search location city name topic person duration symbol user customer date q text subject'],
  ['of', 'path file name subject city topic base country'],
  ['by', 'author deadline due date factor amount percent user artist'],
  ['about regarding', 'topic subject query body text'],
  ['with', 'content body participant attendee guest value password contact person title replacement new text'],
  ['using', 'method mode format engine strategy tool language'],
  ['near around', 'location city place address near'],
  ['because', 'reason note comment'],
  ['over above', 'min minimum'],
  ['as', 'name role title status format label state alias'],
  ['named called titled', 'name title label filename path subject'],
  ['labeled labelled', 'label name tag'],
  ['saying says that', 'message body text content'],
  ['containing matching', 'query pattern text content regex filter'],
  ['under inside within', 'path directory folder category radius max maximum location city place region'],
  ['between', 'from start'],
  ['until till through', 'end until to'],
  ['since after', 'since start after from'],
  ['before', 'end before until'],
  ['via', 'channel method via'],
] as const) {
  for (const lead of leads.split(' ')) pointsTo.set(lead, stems(names))
}

/** Parameters that a number in front of a tool's noun is for: '5 results'. */
const countNames = stems('count number quantity limit max top times n')
/** Parameters whose value can be a kind of thing: 'order a pizza'. */
const thingNames = stems('item product thing object task topic query term keyword text')
/** Parameters whose value can be an adjective of the tool's noun. */
const kindNames = stems('genre type kind style category cuisine color colour size mood mode level flavor flavour')
const originNames = stems('from source origin old original')
const thingNotes = stems('item product thing object')
const directoryWords = stems('dir directory folder cwd')
const listingNames = stems('list ls tree')
/** Nouns that only introduce a value: 'the word middleware', 'the docs folder'. */
const nounsFor: Partial<Record<Role, ReadonlySet<string>>> = {
  path: stems('path file dir directory folder'),
  query: stems('word term phrase string keyword text'),
}

const seconds = new Map(
  Object.entries({
    millisecond: 0.001,
    ms: 0.001,
    second: 1,
    sec: 1,
    minute: 60,
    min: 60,
    hour: 3600,
    day: 86_400,
    week: 604_800,
  }).map(([unit, size]) => [stem(unit), size] as const),
)

/** A piece as the value of a parameter, or undefined where it cannot be one. */
export function fit(parameter: Parameter, piece: Piece, tool: Tool): Fit | undefined {
  const words = trimmed(piece, parameter, tool)
  const value = words && valueFor(parameter, piece, words.tokens === piece.tokens ? piece.text : textWithin(piece, words.tokens))
  if (!words || value === undefined) return undefined
  const named = words.named ? 6 : nameScore(parameter, piece, tool)
  const led = leadScore(parameter, piece)
  const base = parameter.choices
    ? 5
    : parameter.type === 'number'
      ? 2
      : (suitability(parameter, piece, tool, words.tokens) ?? (named >= 4 ? 0 : undefined))
  if (base === undefined || (piece.kind === 'phrase' && named < 4 && isKindOfThing(parameter, piece, words.tokens)))
    return undefined
  // A phrase that shares words with the tool is likelier its name than a value: 'the musical scale'.
  const isAbout =
    piece.lead === '' && named < 4 && words.tokens.some(({ root }) => tool.name.has(root) || tool.description.has(root))
  const score = base + Math.max(named, led) + (parameter.required ? 0.5 : 0) + (parameter.list ? 0.7 : 0) - (isAbout ? 0.4 : 0)
  return { parameter, piece, tokens: words.tokens, value, base, score }
}

/** Does a parameter of a tool say where to look? */
export function isDirectory({ name, notes }: Parameter, tool: Tool): boolean {
  return meets(name, directoryWords) || meets(notes, directoryWords) || meets(tool.name, listingNames)
}

/** The value of a piece in the parameter's type. */
export function valueFor(parameter: Parameter, piece: Piece, text: string): Json | undefined {
  if (parameter.choices) return parameter.choices.find((choice) => String(choice) === text)
  if (parameter.type === 'boolean') return undefined
  if (parameter.type === 'string') return text
  const digits =
    piece.kind === 'date'
      ? /^in (\d+) /.exec(text)
      : /^(?:number|identifier|quoted)$/.test(piece.kind)
        ? /^#?([-+]?\d+(?:\.\d+)?)$/.exec(text)
        : null
  if (!digits) return undefined
  const wanted = seconds.get([...parameter.name].find((word) => seconds.has(word)) ?? '')
  const given = seconds.get(unitOf(piece))
  const value = wanted && given ? (Number(digits[1]) * given) / wanted : Number(digits[1])
  return parameter.integer && !Number.isInteger(value) ? undefined : value
}

function suitability(parameter: Parameter, { kind, text }: Piece, tool: Tool, kept: readonly Token[]): number | undefined {
  const suited = suits[parameter.role][kind === 'phrase' && kept.every(isCapital) ? 'name' : kind]
  // `rm -rf build` can be nothing but a command.
  if (kind === 'code' && /\s/.test(text) && parameter.role === 'command') return 8
  if (kind === 'code' && /\s/.test(text) && parameter.role === 'path') return undefined
  const hasExtension = kind === 'path' && /[^./]\.\w+$/.test(text)
  return suited !== undefined && hasExtension && parameter.role === 'path' && isDirectory(parameter, tool) ? 2.5 : suited
}

/** 'a flight', 'my account': the words of a tool, rather than a value for it. */
function isKindOfThing({ name, notes, role }: Parameter, { article, tokens }: Piece, kept: readonly Token[]): boolean {
  // 'a classical concert' is a concert of the classical kind.
  if (kept.every(isCapital)) return false
  if (article === 'a' && kept.at(-1) !== tokens.at(-1) && meets(name, kindNames)) return false
  if (article === 'a') return role !== 'content' && !meets(name, thingNames) && !meets(notes, thingNotes)
  return article === 'the' && /path|email|url|id/.test(role)
}

/** How clearly the preposition before a piece points to the parameter. */
function leadScore({ name, notes, role, type }: Parameter, { lead, joined, kind }: Piece): number {
  // What is looked for or said stands right after the verb.
  if (lead === '' && (role === 'query' || role === 'content') && (kind === 'phrase' || kind === 'name')) return 1
  const pointed = pointsTo.get(lead)
  // The second of a list belongs to the first.
  if (!pointed || joined) return 0
  // 'at 40 km/h' is no time of day.
  if (type === 'number' && /^(?:at|in|on|for|of|with|about)$/.test(lead)) return 0
  if (kind === 'unit' && !/^(?:to|from|into|in)$/.test(lead)) return 0
  // 'in', 'to' and 'with' say what becomes of it, never where it comes from.
  if (meets(name, originNames) && !pointed.has('from')) return 0
  return meets(pointed, name) ? 4 : meets(pointed, notes) ? 1.5 : 0
}

/** How clearly the words beside a piece are those of the parameter's name. */
function nameScore(parameter: Parameter, piece: Piece, tool: Tool): number {
  const before = piece.before.filter((word) => !/^\d/.test(word))
  // 'in' names an `in`, but no `check_in`.
  const isName = (word: string) =>
    parameter.name.has(word) && (parameter.name.size === 1 || !/^(?:in|on|of|at|for|by)$/.test(word))
  const at = before.findLastIndex(isName)
  const ahead = at < 0 ? 0 : 6 - 2 * (before.length - 1 - at)
  const unit = unitOf(piece)
  const isDuration =
    seconds.has(unit) &&
    [...parameter.name].some((word) => seconds.has(word) || /^(?:tim|dur|duration|timeout|delay|interval)$/.test(word))
  const alike = isDuration || [...parameter.name].some((word) => related(word, unit) >= 0.6)
  const counts = meets(parameter.name, countNames) && (tool.name.has(unit) || tool.description.has(unit))
  const behind = parameter.name.has(unit) ? 5 : counts ? 4 : alike ? 3 : 0
  const noted = parameter.notes.has(unit) ? 2 : parameter.notes.has(before.at(-1) ?? '') ? 1.5 : 0
  return Math.max(ahead, behind, noted)
}

function textWithin({ text, tokens }: Piece, part: readonly Token[]): string {
  const start = tokens[0]?.start ?? 0
  return text.slice((part[0]?.start ?? 0) - start, (part.at(-1)?.end ?? 0) - start)
}

/** What a number counts: 'lines' in '20 lines'. */
export function unitOf({ kind, text, after }: Piece): string {
  return kind === 'number' ? after : kind === 'date' ? stem(/^in \d+ (\w+)$/.exec(text)?.[1] ?? '') : ''
}

/** The tokens of a piece without the words that belong to the tool: 'Hello' of 'subject Hello', nothing of 'the weather'. */
function trimmed(piece: Piece, parameter: Parameter, tool: Tool): { tokens: readonly Token[]; named: boolean } | undefined {
  const { tokens } = piece
  if (piece.kind !== 'phrase' && piece.kind !== 'name') return { tokens, named: false }
  const names = (root: string) => parameter.name.has(root) || (nounsFor[parameter.role]?.has(root) ?? false)
  const isKnown = (root: string) => tool.name.has(root) || tool.description.has(root) || tool.parameterNames.has(root)
  const isObject = piece.lead === ''
  const isOwn = ({ root }: Token) => root !== '' && (names(root) || (isObject && tool.name.has(root)))
  // In 'the used Ford Transit van' the capitals are the name, and what else the tool knows describes it.
  const hasName = tokens.some(isCapital) && !tokens.every(isCapital)
  const describes = (token: Token) =>
    hasName &&
    !isCapital(token) &&
    (names(token.root) || [...tool.description, ...tool.notes].some((word) => related(word, token.root) >= 0.5))
  // 'mean' in 'what does serendipity mean' is the verb.
  const isVerbOf = ({ root }: Token) => isObject && isVerb(root) && [...tool.name].some((word) => related(word, root) >= 0.6)
  let from = 0
  let to = tokens.length
  const at = (index: number) => tokens[index] as Token
  while (from < to && (isOwn(at(from)) || describes(at(from)) || (from > 0 && isStopWord(at(from).text)))) from++
  while (
    to > from &&
    ((isOwn(at(to - 1)) && (isObject || parameter.role === 'path')) ||
      describes(at(to - 1)) ||
      (to - from > 1 && isVerbOf(at(to - 1))))
  )
    to--
  const kept = tokens.slice(from, to)
  const named = names(tokens[from - 1]?.root ?? '') || names(tokens[to]?.root ?? '')
  if (kept.length === 0 || (piece.kind === 'phrase' && !named && kept.every(({ root }) => isKnown(root)))) return undefined
  return { tokens: kept, named }
}

function isCapital({ kind, text }: Token): boolean {
  return kind !== 'word' || /^\p{Lu}/u.test(text)
}
