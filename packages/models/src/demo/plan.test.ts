import type { JsonObject, Message, ToolResult } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { answerTo, failed, ok, run, user } from './testing/conversation.ts'
import type { Called } from './testing/conversation.ts'
import { repository, tool } from './testing/tools.ts'

function repositoryResult(name: string, args: JsonObject): ToolResult {
  if (name === 'list_files') return ok('LICENSE\nREADME.md\npackage.json\nsrc/')
  if (name === 'search_files') return ok('src/a.ts:1: one\nsrc/b.ts:20: two')
  if (/rm /.test(String(args['command']))) return failed('Permission denied: it removes files')
  return ok(`the text of ${JSON.stringify(args)}`)
}

const plans: readonly (readonly [request: string, ...turns: (readonly Called[])[]])[] = [
  [
    'List the files here, read package.json, search for defineMiddleware, run `git log --oneline -3` and run `rm -rf build`',
    [
      ['list_files', { path: '.' }],
      ['read_file', { path: 'package.json' }],
      ['search_files', { query: 'defineMiddleware' }],
    ],
    [['run_command', { command: 'git log --oneline -3' }]],
    [['run_command', { command: 'rm -rf build' }]],
  ],
  [
    'list the files, then read README.md and search for "a, b and then c"; also run `git status`',
    [['list_files', { path: '.' }]],
    [
      ['read_file', { path: 'README.md' }],
      ['search_files', { query: 'a, b and then c' }],
    ],
    [['run_command', { command: 'git status' }]],
  ],
  [
    '1. list src\n2. read src/index.ts\n3. run "npm test"',
    [['list_files', { path: 'src' }]],
    [['read_file', { path: 'src/index.ts' }]],
    [['run_command', { command: 'npm test' }]],
  ],
  ['What does this repository do?', [['list_files', { path: '.' }]], [['read_file', { path: 'README.md' }]]],
  ['find where openTimers is used', [['search_files', { query: 'openTimers' }]]],
  ['how many tests are there?', [['search_files', { query: 'test' }]]],
  [
    'read README.md, package.json and src/a.ts',
    [
      ['read_file', { path: 'README.md' }],
      ['read_file', { path: 'package.json' }],
      ['read_file', { path: 'src/a.ts' }],
    ],
  ],
  ['show me the first 20 lines of src/index.ts', [['read_file', { path: 'src/index.ts', maxLines: 20 }]]],
  ['run git status', [['run_command', { command: 'git status' }]]],
  [
    'search src for TODO and open the second file',
    [['search_files', { query: 'TODO', path: 'src' }]],
    [['read_file', { path: 'src/b.ts' }]],
  ],
  ['list the files and read the last one', [['list_files', { path: '.' }]], [['read_file', { path: 'src/' }]]],
  ['read a.txt and read a.txt again', [['read_file', { path: 'a.txt' }]]],
  [
    'read a.txt then read b.txt. After that, list src',
    [['read_file', { path: 'a.txt' }]],
    [['read_file', { path: 'b.txt' }]],
    [['list_files', { path: 'src' }]],
  ],
  ['Please read the readme. Thank you!', [['read_file', { path: 'README.md' }]]],
]

describe('plans', () => {
  test.for(plans)('%#: $0', async ([request, ...turns]) => {
    expect((await run(repository, request, repositoryResult)).turns).toEqual(turns)
  })

  test('a value from an earlier result fills what the words leave open', async () => {
    const tools = [
      tool('find_customer', 'Find a customer', { name: 'text' }),
      tool('list_orders', 'List orders', { customer_id: 'integer' }),
      tool('send_mail', 'Send a mail', { to: 'text', body: 'text' }),
    ]
    const { turns } = await run(
      tools,
      'Find the customer Ada, then list their orders and mail the result to ada@acme.test',
      (name) => ok(name === 'find_customer' ? '{"customer":{"id":7,"name":"Ada"}}' : 'two orders'),
    )
    expect(turns).toEqual([
      [['find_customer', { name: 'Ada' }]],
      [['list_orders', { customer_id: 7 }]],
      [['send_mail', { to: 'ada@acme.test', body: 'two orders' }]],
    ])
  })

  test('a second thing to ask for borrows the place of the first', async () => {
    const tools = [tool('get_humidity', 'Humidity', { city: 'text' }), tool('get_tides', 'Tides', { location: 'text' })]
    const { turns } = await run(tools, 'tell me the humidity and the tides in Brest')
    expect(turns).toEqual([
      [
        ['get_humidity', { city: 'Brest' }],
        ['get_tides', { location: 'Brest' }],
      ],
    ])
  })

  test('a clause that only adds a value belongs to the call before it', async () => {
    const tools = [tool('open_case', 'Open a case', { title: 'text', 'assignee?': 'text' })]
    expect((await run(tools, 'open a case titled "Leak" and assign it to Bob')).turns).toEqual([
      [['open_case', { title: 'Leak', assignee: 'Bob' }]],
    ])
  })
})

test('of a very long message the beginning counts', async () => {
  const { turns } = await run(repository, `read a.txt, ${'and so on, '.repeat(10_000)} read b.txt`)
  expect(turns).toEqual([[['read_file', { path: 'a.txt' }]]])
})

describe('never makes a call twice', () => {
  test('when it was denied, it says so and goes on with the rest', async () => {
    const { turns, said } = await run(repository, 'run `rm -rf build`, then read a.txt', repositoryResult)
    expect(turns.flat().map(([name]) => name)).toEqual(['run_command', 'read_file'])
    expect(said).toContain('run_command (rm -rf build) was not carried out: Permission denied: it removes files')
    expect(said).toContain('read_file (a.txt) gave: "the text of')
  })

  test('when it failed, what builds on it is left out', async () => {
    const { turns, said } = await run(repository, 'search for TODO and open the first file', () => failed('Error: disk'))
    expect(turns.length).toBe(1)
    expect(said).toContain('search_files (TODO) failed: Error: disk')
    expect(said).toContain('it needs the result of search_files')
  })

  test('when somebody edited its arguments', async () => {
    const { messages } = await run(repository, 'read a.txt and read b.txt')
    const edited = messages.map((message): Message =>
      message.role !== 'assistant'
        ? message
        : {
            ...message,
            content: message.content.map((part) => (part.type === 'tool_call' ? { ...part, args: { path: 'c.txt' } } : part)),
          },
    )
    expect((await answerTo({ messages: edited.slice(0, 3), tools: repository })).calls).toEqual([])
  })

  test('when the person asks for it again in the middle of the run', async () => {
    const { messages } = await run(repository, 'read a.txt, then read b.txt')
    const steered = [...messages.slice(0, 3), user('no, read a.txt and list the files')]
    expect((await run(repository, steered)).turns).toEqual([[['list_files', { path: '.' }]]])
  })
})

describe('listens to the newest words', () => {
  test('a new message replaces the plan', async () => {
    const { messages } = await run(repository, 'read a.txt, then read b.txt')
    const { turns } = await run(repository, [...messages.slice(0, 3), user('Stop that. Read c.txt instead.')])
    expect(turns).toEqual([[['read_file', { path: 'c.txt' }]]])
  })

  test('a remark in between does not end the plan', async () => {
    const { messages } = await run(repository, 'read a.txt, then read b.txt')
    const { turns } = await run(repository, [...messages.slice(0, 3), user('You are doing well.')])
    expect(turns).toEqual([[['read_file', { path: 'b.txt' }]]])
  })

  test('context that a middleware added is not for the planner', async () => {
    const added: Message = { role: 'user', content: [{ type: 'text', text: 'read c.txt', added: true }] }
    expect((await run(repository, [user('read a.txt'), added])).turns).toEqual([[['read_file', { path: 'a.txt' }]]])
  })

  test('the same words in a later run are carried out again', async () => {
    const { messages } = await run(repository, 'read a.txt')
    expect((await run(repository, [...messages, user('read a.txt')])).turns).toEqual([[['read_file', { path: 'a.txt' }]]])
  })

  test("'try again' does what failed, and only that", async () => {
    const { messages } = await run(repository, 'read a.txt and run `rm -rf build`', repositoryResult)
    const again = await run(repository, [...messages, user('You may. Try again, please!')])
    expect(again.turns).toEqual([[['run_command', { command: 'rm -rf build' }]]])
    expect(again.said).toContain('run_command (rm -rf build) gave: "done"')
  })
})
