/** Stands where a secret was. No rule matches it, so that what was scrubbed once stays as it is. */
export const scrubbed = '[scrubbed]'

/** Fields whose values are secrets, whatever they look like. A space stands for `_`, `-`, a capital letter or nothing. */
const names = [
  'api key',
  'x api key',
  'api token',
  'api secret',
  'authorization',
  'proxy authorization',
  'password',
  'passwd',
  'passphrase',
  'secret',
  'client secret',
  'secret key',
  'secret access key',
  'private key',
  'token',
  'access token',
  'auth token',
  'bearer token',
  'id token',
  'refresh token',
  'session token',
  'cookie',
  'set cookie',
]
  .map((name) => name.replaceAll(' ', '[-_ ]?'))
  .join('|')

const secretName = new RegExp(`^(?:${names})$`, 'i')

/** Is a field of this name one whose value is a secret? The whole name counts: `maxTokens` is none. */
export function isSecretName(name: string): boolean {
  return secretName.test(name)
}

// The last character of an escape, as in JSON text, is no part of the word after it.
const afterEscape = String.raw`(?<=\\[bfnrt]|\\u[0-9a-fA-F]{4})`
const edge = String.raw`(?:(?<![A-Za-z0-9])|${afterEscape})`
const nameEdge = String.raw`(?:(?<![\w-])|${afterEscape})`

/** Tokens that are known by their looks. */
const shapes = [
  // OpenAI, Anthropic, OpenRouter, DeepSeek.
  String.raw`sk-[\w-]{12,}`,
  // Stripe, Groq, Hugging Face, npm, xAI, Perplexity, SendGrid.
  String.raw`[rs]k_(?:live|test)_\w{10,}`,
  String.raw`(?:gsk|hf|npm)_[A-Za-z0-9]{20,}`,
  String.raw`(?:xai|pplx)-[A-Za-z0-9]{20,}`,
  String.raw`SG\.[\w-]{16,}\.[\w-]{16,}`,
  // AWS.
  String.raw`(?:AKIA|ASIA)[A-Z0-9]{16}`,
  // GitHub, GitLab.
  String.raw`gh[a-z]_[A-Za-z0-9]{20,}`,
  String.raw`github_pat_\w{20,}`,
  String.raw`glpat-[\w-]{20,}`,
  // Slack.
  String.raw`xox[a-z]-[A-Za-z0-9-]{10,}`,
  String.raw`xapp-[A-Za-z0-9-]{10,}`,
  // Google.
  String.raw`AIza[\w-]{30,}`,
  String.raw`ya29\.[\w-]{20,}`,
  // JWT, signed or encrypted.
  String.raw`eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*){1,3}`,
]

const rules: readonly (readonly [RegExp, string])[] = [
  // A block without its end was cut off there.
  [/-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,10}-----[^]*?(?:-----END [A-Z0-9 ]{0,40}-----|$)/g, scrubbed],
  [new RegExp(`${edge}(?:${shapes.join('|')})`, 'g'), scrubbed],
  // A word of prose after 'bearer' has no digit.
  [/\b(bearer\s+)(?=[\w.~+/=-]*\d|[\w.~+/=-]{20})[\w.~+/=-]{8,}/gi, `$1${scrubbed}`],
  [/\b(authorization\s*:\s*(?:basic|digest|token|apikey)\s+)(?!\[scrubbed\])[^\s"'\\]{6,}/gi, `$1${scrubbed}`],
  [/(?<=:\/\/)[^\s/?#@:"'\\]*:[^\s/?#@"'\\]+@/g, `${scrubbed}@`],
  // "password": "…", also where that is a string in a string, and password = '…'.
  [
    new RegExp(
      String.raw`(${nameEdge}(?:${names})(?:\\{0,7}["'])?\s{0,9}[:=]\s{0,9}(\\{0,7}["']))(?:(?!\2)[^]|(?<=\\)\2)+?((?<!\\)\2|$)`,
      'gi',
    ),
    `$1${scrubbed}$3`,
  ],
  // "password": 1234 stays a number.
  [new RegExp(String.raw`(${nameEdge}(?:${names})\\{0,7}["']\s{0,9}:\s{0,9})-?\d[\d.eE+-]*`, 'gi'), '$10'],
  // ?token=…&, PASSWORD=…
  [new RegExp(String.raw`(${nameEdge}(?:${names})=)(?!\[scrubbed\])[^\s&#;,"'\\]+`, 'gi'), `$1${scrubbed}`],
]

/** The text without the secrets that show by their looks or their field's name. Contract: scrubbing twice changes nothing more. */
export function scrub(text: string): string {
  const rest = rules.reduce((left, [secret, replacement]) => left.replace(secret, replacement), text)
  // What stood next to a secret may be told as one only now. Every round leaves less of the text.
  return rest === text ? text : scrub(rest)
}
