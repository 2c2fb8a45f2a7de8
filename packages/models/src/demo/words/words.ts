/** Words that carry no meaning of their own when a request is matched to a tool. */
const stopWords = new Set(
  `a an the of in on at to for from by with and or but as into about me my mine i im we us our you your it its he him his she her they them
   this that these those there here some any all every please can could would will shall should may might must is are was were be been am do does did
   have has had want need like let lets go ahead now just also then so if whether who whom whose which how when why want's id ill s t re ve
   everything something anything thing things one ones both each other more much many kindly hey hi ok okay thanks thank use using`.split(
    /\s+/,
  ),
)

/** Words so common in tool names and descriptions that a match says little. */
const weakWords = stems(
  'get what new use tool make current given give data information info value return returns by perform provide do simple api',
)

/** English verbs that often mean the same thing. A word may stand in several rows. */
const verbGroups = [
  'show read open print cat view display see head what',
  'read review inspect examine explain describe summarize summarise study',
  'show list ls enumerate browse index what',
  'find search grep locate scan seek where mention contain query lookup',
  'find get fetch retrieve obtain lookup check load pull give tell what query',
  'run execute exec launch invoke',
  'start begin launch open activate enable',
  'stop end halt kill terminate abort pause disable deactivate',
  'remove delete erase drop rm destroy discard unlink',
  'remove delete cancel clear revoke',
  'write save store put record append remember',
  'create make add new generate insert register build write compose draft open log file',
  'create schedule book reserve arrange plan set',
  'send mail email post message dispatch deliver forward text notify tell',
  'update change edit modify set alter adjust replace patch',
  'convert change transform exchange translate',
  'compute calculate evaluate solve',
  'add sum plus total',
  'subtract minus difference',
  'multiply times product',
  'turn switch toggle set',
  'copy duplicate clone cp',
  'move rename mv relocate transfer',
  'remind alert notify warn',
  'summarize summarise shorten condense recap',
  'close finish complete resolve end',
  'buy order purchase',
  'pay transfer wire send',
  'explain describe define mean',
  'count number tally',
  'translate interpret',
  'play listen',
  'install add',
  'upload publish post',
  'download fetch pull',
  'fix repair resolve',
  'test check verify validate',
  'compare diff',
  'sort order arrange',
  'increase raise',
  'decrease lower reduce',
  'ask question',
  'assign give',
  'undo revert',
].map((row) => stems(row))

/** Verbs that change something outside, so that their order matters to the person who asks. */
const changingVerbs =
  stems(`run execute exec remove delete rm drop cancel write save store create add insert register schedule book reserve send
  mail email post message notify update change edit modify set rename move copy pay transfer buy order start stop kill close upload publish
  install assign remind turn`)

const otherVerbs =
  stems(`go tell give check look explain compare count how why who when which is are can could would will does do did open ask press
  toggle lock unlock connect merge commit push deploy draw reply answer invite greet say track share remember forget approve reject archive`)

/** What a word is about, where that is common knowledge: units and currencies, and the adjectives that follow 'how'. */
const kindsOfValue = [
  ['currency money exchange', 'usd eur gbp jpy cny chf inr cad aud dollar euro pound yen franc rupee'],
  ['unit length distance', 'mile kilometer kilometre km meter metre cm mm foot feet inch inches yard'],
  ['unit weight mass', 'kilogram kilo kg gram pound lb ounce oz ton'],
  ['unit temperature', 'celsius fahrenheit kelvin'],
  ['unit volume', 'liter litre ml gallon pint cup'],
  ['distance', 'far'],
  ['temperature', 'warm hot cold'],
  ['price cost', 'expensive'],
  ['age', 'old'],
  ['height', 'tall'],
  ['weight', 'heavy'],
  ['speed', 'fast'],
  ['size', 'big large'],
].map(([kinds = '', values = '']) => [[...stems(kinds)], stems(values)] as const)

const groupsOf = new Map<string, number[]>()
for (const [index, group] of verbGroups.entries()) {
  for (const verb of group) groupsOf.set(verb, [...(groupsOf.get(verb) ?? []), index])
}

/** The lower-case words of a text or a name: `getHTTPStatus`, `get_http.status` and `get HTTP status` give the same. */
export function wordsOf(text: string): string[] {
  return (text.replace(/\be-(?=\p{L})/giu, 'e').match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lo}+|\d+/gu) ?? []).map((word) =>
    word.toLowerCase(),
  )
}

/** What is left of a word without plural, -ing, -ed, -ly, -ion and a final e. Two forms of one word give the same stem; it need not be a word. */
export function stem(word: string): string {
  let root = word.toLowerCase()
  if (root.length > 4 && root.endsWith('ies')) root = `${root.slice(0, -3)}y`
  else if (root.length > 4 && /(?:[sxz]|ch|sh)es$/.test(root)) root = root.slice(0, -2)
  else if (root.length > 3 && /[^su]s$/.test(root)) root = root.slice(0, -1)
  if (root.length > 5 && root.endsWith('ing')) root = undouble(root.slice(0, -3))
  else if (root.length > 3 && /[^e]ed$/.test(root)) root = undouble(root.slice(0, -2))
  else if (root.length > 5 && root.endsWith('ly')) root = root.slice(0, -2)
  else if (root.length > 7 && /[ts]ion$/.test(root)) root = root.slice(0, -3)
  return root.length > 2 && root.endsWith('e') ? root.slice(0, -1) : root
}

/** The stems of a text's words. */
export function stems(text: string): Set<string> {
  return new Set(wordsOf(text).map(stem))
}

/** From 0 (unrelated) to 1 (the same word): about 0.6 for verbs of one meaning and for long common beginnings, such as `repo` and `repository`. */
export function related(a: string, b: string): number {
  if (a === b) return 1
  if (groupsOf.get(a)?.some((group) => groupsOf.get(b)?.includes(group))) return 0.6
  const [short, long] = a.length < b.length ? [a, b] : [b, a]
  if (short.length >= 4 && long.startsWith(short)) return short.length > 4 ? 0.7 : 0.5
  return short.length >= 7 && long.startsWith(short.slice(0, 6)) ? 0.6 : 0
}

/** What words are about: 'length' for miles, 'distance' for 'how far'. */
export function impliedBy(roots: readonly string[]): string[] {
  const hits = kindsOfValue.map(([kinds, values]) => ({ kinds, count: roots.filter((root) => values.has(root)).length }))
  // 'grams' beside 'pounds' says that no money is meant.
  const most = Math.max(...hits.map(({ count }) => count))
  return most === 0 ? [] : hits.flatMap(({ kinds, count }) => (count === most ? kinds : []))
}

const currencyCodes = new Map(
  Object.entries({ dollar: 'USD', euro: 'EUR', pound: 'GBP', yen: 'JPY', franc: 'CHF', rupee: 'INR' }).map(
    ([name, code]) => [stem(name), code] as const,
  ),
)

/** The code of a currency that is called by its name. */
export function currencyCode(root: string): string | undefined {
  return currencyCodes.get(root)
}

export function isStopWord(word: string): boolean {
  return stopWords.has(word.toLowerCase())
}

export function isWeak(root: string): boolean {
  return weakWords.has(root)
}

export function isVerb(root: string): boolean {
  return groupsOf.has(root) || otherVerbs.has(root)
}

/** Does a tool of this name change something? Told by the verbs in it. */
export function changesThings(toolName: string): boolean {
  return wordsOf(toolName).some((word) => changingVerbs.has(stem(word)))
}

/** Do two sets of stems share one? */
export function meets(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  for (const word of a) if (b.has(word)) return true
  return false
}

function undouble(root: string): string {
  return /([bdfgmnprt])\1$/.test(root) ? root.slice(0, -1) : root
}
