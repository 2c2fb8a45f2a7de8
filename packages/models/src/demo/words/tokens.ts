import { stem } from './words.ts'

/** What a stretch of a request looks like, before anyone asks what it is for. */
export type TokenKind =
  | 'word'
  | 'quoted'
  | 'code'
  | 'url'
  | 'email'
  | 'date'
  | 'time'
  | 'number'
  | 'path'
  | 'identifier'
  | 'math'
  | 'mark'
  | 'line'

export interface Token {
  readonly kind: TokenKind
  /** The value: without the quotes of a quotation, the thousands separators of a number. */
  readonly text: string
  /** The stem of a word, '' for every other kind. */
  readonly root: string
  readonly start: number
  readonly end: number
}

const weekday = '(?:mon|tues|wednes|thurs|fri|satur|sun)day'
const month =
  '(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)'

/** In order of preference: the first that fits at a place wins. What quotations, commands and file names hold is never looked into. */
const grammar: readonly (readonly [TokenKind, string])[] = [
  ['code', '`[^`]+`'],
  ['quoted', '"[^"]+"|“[^”]+”|«[^»]+»|‘[^’]+’|(?<![\\p{L}\\d])\'[^\'\\n]+?\'(?![\\p{L}\\d])'],
  // SQL is shouted by habit, and goes on until something else is asked.
  ['code', '\\b(?:SELECT|INSERT INTO|DELETE FROM|UPDATE \\w+ SET)\\b(?:(?!,? (?:and )?then\\b)[^;\\n`"])*'],
  ['url', '\\bhttps?://[^\\s,;"\'`)]*[^\\s,;"\'`).?!:]'],
  ['email', '[\\w.+-]+@[\\w-]+(?:\\.[\\w-]+)+'],
  [
    'date',
    '\\b\\d{4}-\\d\\d-\\d\\d(?:[T ]\\d\\d:\\d\\d(?::\\d\\d)?(?:Z|[+-]\\d\\d:?\\d\\d)?)?\\b|\\b\\d{1,2}[/.]\\d{1,2}[/.]\\d{2,4}\\b',
  ],
  ['date', `\\b(?:${month}\\.? \\d{1,2}(?:st|nd|rd|th)?|\\d{1,2}(?:st|nd|rd|th)?(?: of)? ${month})(?:,? \\d{4})?\\b`],
  [
    'date',
    `\\b(?:day after tomorrow|tomorrow|today|tonight|yesterday|(?:(?:next|this|last) )?${weekday}|(?:next|this|last) (?:week(?:end)?|month|year))\\b`,
  ],
  ['date', '\\bin (?:\\d+|an?|half an) (?:second|minute|min|hour|day|week|month|year)s?\\b'],
  ['time', '\\b\\d{1,2}(?::\\d\\d)? ?[ap]\\.?m\\b\\.?|\\b\\d{1,2}:\\d\\d(?::\\d\\d)?\\b|\\bnoon\\b|\\bmidnight\\b'],
  ['math', '\\({0,9}-?\\d[\\d.]*\\)*(?:(?: *[*/^×÷%+] *| +- +|-(?=\\())\\({0,9}-?\\d[\\d.]*\\)*)+'],
  ['math', '(?<![\\w.])[\\w.()]*[\\w)][\\^*+][\\w(][\\w.()^*+/-]*[\\w)]|(?<![\\w.])[\\w.()]*[\\w)][\\^*+][\\w(]'],
  [
    'identifier',
    '\\b\\d{4}[-–/]\\d{2,4}\\b|\\+\\d[\\d ()-]{6,}\\d|(?<!\\S)#[\\p{L}\\d][\\w-]*|\\b[A-Z]{1,8}-\\d+\\b|\\bv?\\d+\\.\\d+\\.\\d+[\\w.-]*',
  ],
  ['number', '(?<![\\p{L}\\d])[-+]?(?:\\d{1,3}(?:,\\d{3})+|\\d+)(?:\\.\\d+)?(?![\\p{L}\\d]*[_-]?[\\p{L}]+\\d|/)'],
  ['number', '\\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\\b'],
  ['path', '(?:~|\\.{1,2})?/[\\w.@*{}~+-][\\w./@*{},~+-]*(?<![.,])|\\.{1,2}/|(?<=\\s|^)\\.(?=\\s|$)'],
  ['path', '(?<![\\p{L}\\d])(?!(?:and/or|or/and|he/she|km/h)\\b)[\\w.@*+-]+(?:/[\\w.@*+-]+)+/?(?<!\\.)|[\\w-]+/(?=[\\s,;]|$)'],
  [
    'path',
    '(?<![\\p{L}\\d])(?!(?:e\\.g|i\\.e|a\\.k\\.a)\\b)[\\w*@-]*(?:\\.[\\w*-]+)*\\.\\*?[A-Za-z][A-Za-z0-9]{0,9}\\b|(?<!\\S)(?:src|lib|dist|packages)\\b',
  ],
  [
    'identifier',
    '@?[A-Za-z$_][\\w$]*(?:_[\\w$]+|(?<=[a-z])[A-Z][\\w$]*|\\(\\))|\\b[A-Z][A-Z\\d_]{1,}\\b|\\b[\\p{L}]+-?\\d[\\w-]*\\b|\\b\\d+[A-Za-z]+\\d[\\w-]*\\b|\\b\\d+[a-f][\\da-f]{5,}\\b',
  ],
  ['word', "\\p{L}+(?:-\\p{L}+)*(?:['’](?!s\\b)\\p{L}+)?"],
  ['line', '\\n\\s*'],
  ['mark', "['’]s\\b|[^\\s]"],
]

// Dates, times and numbers are written in any case; an identifier and SQL are told by their capitals.
const scanners = grammar.map(([kind, source]) => ({
  kind,
  pattern: new RegExp(source, /date|time|number/.test(kind) ? 'iuy' : 'uy'),
}))
const numberWords = ['two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten', 'eleven', 'twelve']

const moneySigns: Readonly<Record<string, string>> = { $: 'USD', '€': 'EUR', '£': 'GBP', '¥': 'JPY' }

/** The tokens of a request, in order. White space is between them. */
export function tokenize(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  while (at < text.length) {
    if (/[^\S\n]/.test(text.charAt(at))) {
      at++
      continue
    }
    const { kind, raw } = scan(text, at)
    tokens.push({ kind, text: valueOf(kind, raw), root: kind === 'word' ? stem(raw) : '', start: at, end: at + raw.length })
    at += raw.length
  }
  return tokens
}

function scan(text: string, at: number): { kind: TokenKind; raw: string } {
  for (const { kind, pattern } of scanners) {
    pattern.lastIndex = at
    const raw = pattern.exec(text)?.[0]
    if (raw) return { kind, raw }
  }
  return { kind: 'mark', raw: text.charAt(at) }
}

function valueOf(kind: TokenKind, raw: string): string {
  if (kind === 'code') return raw.startsWith('`') ? raw.slice(1, -1).trim() : raw.replace(/[\s.,]+$/, '')
  if (kind === 'quoted') return raw.slice(1, -1)
  if (kind === 'number') return /\d/.test(raw) ? raw.replaceAll(',', '') : String(numberWords.indexOf(raw.toLowerCase()) + 2)
  if (kind === 'mark') return moneySigns[raw] ?? raw
  return raw
}
