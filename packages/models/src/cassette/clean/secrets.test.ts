import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isSecretName, scrub } from './secrets.ts'
import { secrets } from './testing/secrets.ts'

describe('a secret is scrubbed', () => {
  test.for(secrets)('%s', (secret) => {
    expect(scrub(secret)).toBe('[scrubbed]')
    expect(scrub(`It is ${secret}, keep it.`)).toBe('It is [scrubbed], keep it.')
    expect(scrub(`{"log":"line\\n${secret}"}`)).toBe('{"log":"line\\n[scrubbed]"}')
  })

  test.for([
    ['Authorization: Bearer abc.123-x_y', 'Authorization: Bearer [scrubbed]'],
    ['bearer aaaaaaaaaaaaaaaaaaaaaa', 'bearer [scrubbed]'],
    ['Authorization: Basic dXNlcjpwYXNz', 'Authorization: Basic [scrubbed]'],
    ['postgres://me:hunter2@db.local/x?y=1', 'postgres://[scrubbed]@db.local/x?y=1'],
    ['https://x.test/?api_key=abc&q=1', 'https://x.test/?api_key=[scrubbed]&q=1'],
    ['PASSWORD=hunter[2] next', 'PASSWORD=[scrubbed] next'],
    ['say {"apiKey" : "a\\"b", "q": "c"} now', 'say {"apiKey" : "[scrubbed]", "q": "c"} now'],
    ['"{\\"password\\":\\"a b\\",\\"q\\":1}"', '"{\\"password\\":\\"[scrubbed]\\",\\"q\\":1}"'],
    ["{'client_secret': 'x', 'q': 'y'}", "{'client_secret': '[scrubbed]', 'q': 'y'}"],
    ['say "password": 1234, "q": 5', 'say "password": 0, "q": 5'],
    ['const token = "abc"', 'const token = "[scrubbed]"'],
    ['{"password":"cut o', '{"password":"[scrubbed]'],
    ['-----BEGIN RSA PRIVATE KEY-----\nMIIE', '[scrubbed]'],
  ] as const)('%j becomes %j', ([text, expected]) => {
    expect(scrub(text)).toBe(expected)
  })
})

test.for([
  'task-manager-application-2024',
  'disk-usage-report-2024-01-01',
  'The bearer understandably left.',
  'maxTokens=5 and "max_token": "x"',
  'https://x.test:8080/a@b',
  'a@b.test, see http://x.test',
  'eyJ is how a token begins',
  '"password": "" and "token": null',
  'Your password: it is safe.',
  '-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----',
])('%j is left alone', (text) => {
  expect(scrub(text)).toBe(text)
})

test.for([
  ['api_key', true],
  ['apiKey', true],
  ['API-KEY', true],
  ['x-api-key', true],
  ['Authorization', true],
  ['password', true],
  ['secretAccessKey', true],
  ['token', true],
  ['access_token', true],
  ['Set-Cookie', true],
  ['maxTokens', false],
  ['tokens', false],
  ['tokenizer', false],
  ['key', false],
  ['cookies_accepted', false],
] as const)('a field %s holds a secret: %s', ([name, expected]) => {
  expect(isSecretName(name)).toBe(expected)
})

test('scrubbing twice changes nothing more', () => {
  const piece = fc.oneof(
    fc.constantFrom(...secrets, '"', '\\"', '\\n', "'", ':', '=', ' ', '@', '//', 'password', '"token"', '[scrubbed]', 'Bearer '),
    fc.string({ maxLength: 5 }),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const once = scrub(pieces.join(''))
      expect(scrub(once)).toBe(once)
    }),
    { numRuns: 3000 },
  )
})

// Where a rule looks back, they would not end in time.
test('long texts are scrubbed', () => {
  const long = ['a', 'sk-', 'eyJ', '://', 'password=', '"password":"', '\\', '-----BEGIN PRIVATE KEY-----', 'bearer ', 'a:']
  for (const text of long) expect(scrub(text.repeat(100_000 / text.length)).length).toBeGreaterThan(0)
})
