import type { Piece } from '../words/pieces.ts'
import type { Token } from '../words/tokens.ts'
import { meets, related, stems } from '../words/words.ts'
import type { Parameter, Role, Tool } from './tools.ts'
import { isCapital } from './trim.ts'
import { isTimeUnit, unitOf } from './values.ts'

/** How well each kind of piece suits each role. What is not listed does not, unless the words name the parameter. */
const suits: Readonly<Record<Role, Partial<Record<Piece['kind'], number>>>> = {
  path: { path: 5, quoted: 3, code: 3, identifier: 1, name: 1, word: 1 },
  email: { email: 6, name: 1, phrase: 0.6, quoted: 1 },
  url: { url: 6, path: 3, identifier: 2, quoted: 2, code: 2, name: 1, phrase: 0.6 },
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
    'to target destination recipient receiver address street email user channel assignee language unit dest end arrival new output state status dropoff',
  ],
  ['into', 'to target destination language format unit dest output'],
  ['from', 'from source origin start sender since departure base input pickup'],
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

/** Parameters that a number in front of a noun is for: '5 results'. */
const countNames = stems('count number quantity limit max top times n')
const durationNames = stems('time dur duration timeout delay interval')
const originNames = stems('from source origin old original')
const directoryWords = stems('dir directory folder cwd')
const listingNames = stems('list ls tree')

/** How well a piece suits a text parameter by its kind; undefined where it does not. */
export function suitability(parameter: Parameter, { kind, text }: Piece, tool: Tool, kept: readonly Token[]): number | undefined {
  const { role } = parameter
  // `rm -rf build` can be nothing but a command.
  if (kind === 'code' && /\s/.test(text) && role === 'command') return 8
  if (kind === 'code' && /\s/.test(text) && role === 'path') return undefined
  const isFile = kind === 'path' && /[^./]\.\w+$/.test(text)
  if (isFile && role === 'path' && isDirectory(parameter, tool)) return 2.5
  return suits[role][kind === 'phrase' && kept.every(isCapital) ? 'name' : kind]
}

/** Does a parameter of a tool say where to look? */
export function isDirectory({ name, notes }: Parameter, tool: Tool): boolean {
  return meets(name, directoryWords) || meets(notes, directoryWords) || meets(tool.name, listingNames)
}

/** How clearly the preposition before a piece points to the parameter. */
export function leadScore({ name, notes, role, type }: Parameter, { lead, joined, kind }: Piece): number {
  if (kind === 'moment') return 4
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
export function nameScore(parameter: Parameter, piece: Piece, tool: Tool): number {
  const before = piece.before.filter((word) => !/^\d/.test(word))
  // 'in' names an `in`, but no `check_in`.
  const isName = (word: string) =>
    parameter.name.has(word) && (parameter.name.size === 1 || !/^(?:in|on|of|at|for|by)$/.test(word))
  const at = before.findLastIndex(isName)
  const ahead = at < 0 ? 0 : 6 - 2 * (before.length - 1 - at)
  const noted = parameter.notes.has(before.at(-1) ?? '') ? 1.5 : 0
  return Math.max(ahead, unitScore(parameter, unitOf(piece), tool), noted)
}

/** How clearly a number of these units is meant for the parameter: lines for `maxLines`, minutes for `seconds`, apples for `quantity`. */
export function unitScore({ name, notes, list }: Parameter, unit: string, tool: Tool): number {
  if (unit === '') return 0
  if (name.has(unit)) return 5
  const isCount = !list && meets(name, countNames)
  if (isCount && (unit === 'tim' || tool.name.has(unit) || tool.description.has(unit))) return 4
  const isDuration = isTimeUnit(unit) && (meets(name, durationNames) || [...name].some(isTimeUnit))
  if (isDuration || [...name].some((word) => related(word, unit) >= 0.6)) return 3
  if (isCount && !isTimeUnit(unit)) return 2.5
  return notes.has(unit) ? 2 : 0
}
