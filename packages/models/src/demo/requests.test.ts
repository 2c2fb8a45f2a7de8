import { readdirSync, readFileSync } from 'node:fs'
import type { ToolSpec } from '@koagent/core'
import { describe, expect, test } from 'vitest'
import { run } from './testing/conversation.ts'
import type { Called } from './testing/conversation.ts'
import { home, invented, office, shop } from './testing/tools.ts'

const requests: readonly (readonly [tools: readonly ToolSpec[], request: string, ...calls: Called[]])[] = [
  [home, 'How humid is it in the cellar?', ['get_humidity', { room: 'cellar' }]],
  [
    home,
    "What's the humidity in the attic and the bathroom?",
    ['get_humidity', { room: 'attic' }],
    ['get_humidity', { room: 'bathroom' }],
  ],
  [home, 'set the blinds in the kitchen to half', ['setBlinds', { room: 'kitchen', position: 'half' }]],
  [
    home,
    'Please start the dishwasher with the eco program in 30 minutes',
    ['start_dishwasher', { program: 'eco', delay_minutes: 30 }],
  ],
  [
    home,
    'water the garden for 10 minutes in zones roses, herbs and lawn',
    ['water_garden', { minutes: 10, zones: ['roses', 'herbs', 'lawn'] }],
  ],
  [home, 'turn the alarm off', ['alarm_system', { armed: false }]],
  [
    office,
    'Invite ada@acme.test and bob@acme.test to a meeting titled "Budget" on Friday at 3pm',
    ['send_invitation', { emails: ['ada@acme.test', 'bob@acme.test'], title: 'Budget', when: 'Friday at 3pm' }],
  ],
  [office, 'Who is Grace Hopper? Look up colleague Alan Kay.', ['find_colleague', { name: 'Alan Kay' }]],
  [office, 'exchange 1,250.50 CHF to SEK', ['exchange_money', { amount: 1250.5, from: 'CHF', to: 'SEK' }]],
  [office, 'How much is €20 in USD?', ['exchange_money', { amount: 20, from: 'EUR', to: 'USD' }]],
  [office, 'How many feet are 3 yards?', ['convert_length', { value: 3, from_unit: 'yards', to_unit: 'feet' }]],
  [
    office,
    'query the database: SELECT name, sum(total) FROM sales GROUP BY name',
    ['runSql', { statement: 'SELECT name, sum(total) FROM sales GROUP BY name' }],
  ],
  [office, 'Translate "see you soon" into Finnish', ['translate_phrase', { phrase: 'see you soon', language: 'Finnish' }]],
  [
    office,
    'file an expense of 48.20 for meals with the comment "team lunch"',
    ['file_expense', { amount: 48.2, category: 'meals', comment: 'team lunch' }],
  ],
  [
    office,
    'post in channel #releases: build 7 is out, and everyone can test it',
    ['postChat', { channel: '#releases', message: 'build 7 is out, and everyone can test it' }],
  ],
  [office, 'when is sunrise in Reykjavik on 2031-06-21?', ['get_sunrise', { place: 'Reykjavik', date: '2031-06-21' }]],
  [office, 'What are 3 yards in feet?', ['convert_length', { value: 3, from_unit: 'yards', to_unit: 'feet' }]],
  [home, 'switch the heating off', ['heatingMode', { enabled: false }]],
  [shop, 'how many bonus points does the customer Ada Byron have?', ['shop__loyalty', { customer: 'Ada Byron' }]],
  [shop, 'look for books about the history of tea', ['shop__search_items', { query: 'books about the history of tea' }]],
  [
    office,
    'post in channel #ops: it is broken, stop it and read the logs',
    ['postChat', { channel: '#ops', message: 'it is broken, stop it and read the logs' }],
  ],
  [invented, 'glorb the fnord Wexley with strength 9', ['glorb_the_fnord', { fnord: 'Wexley', strength: 9 }]],
  [invented, 'Quaxify zibble Z-17 gently', ['quaxify', { zibble_id: 'Z-17', gently: true }]],
  [invented, 'quaxify the zibble "abc", but not gently', ['quaxify', { zibble_id: 'abc', gently: false }]],
  [invented, 'show me 4 zibbles', ['list_zibbles', { limit: 4 }]],
  [invented, 'remove zibble 12', ['discard_zibble', { id: '12' }]],
  [invented, 'plonk', ['plonk', {}]],
  [
    shop,
    'search for waterproof boots under 80 that are in stock',
    ['shop__search_items', { query: 'waterproof boots', max_price: 80, in_stock: true }],
  ],
  [shop, 'cancel order A-99 because it came too late', ['shop__cancel_order', { order_id: 'A-99', reason: 'it came too late' }]],
  [
    shop,
    'ship a parcel of 2.5 kg to 12 Elm Street in Bergen, express',
    ['shop__ship', { address: { street: '12 Elm Street', city: 'Bergen' }, weight_kg: 2.5, express: true }],
  ],
  [shop, 'download https://acme.test/a?b=1&c=2.', ['fetch_page', { url: 'https://acme.test/a?b=1&c=2' }]],
  [shop, 'What is 12 * (3 + 4)?', ['compute', { expression: '12 * (3 + 4)' }]],
  [
    shop,
    'create a file named notes/today.md with the text "eat, then sleep"',
    ['save_text', { path: 'notes/today.md', text: 'eat, then sleep' }],
  ],
  [shop, 'rename draft.txt to final.txt', ['rename_file', { source: 'draft.txt', target: 'final.txt' }]],
  [
    shop,
    'remind me to water the plants and feed the cat tomorrow at 9am',
    ['remind', { about: 'water the plants and feed the cat', when: 'tomorrow at 9am' }],
  ],
]

describe('finds the call for tools and words that it has never seen', () => {
  test.for(requests)('%#: $1', async ([tools, request, ...calls]) => {
    const { turns } = await run(tools, request)
    expect(turns).toEqual([calls])
  })

  test('its source names none of those tools', () => {
    const folder = new URL('.', import.meta.url)
    const source = readdirSync(folder, { encoding: 'utf8', recursive: true })
      .filter((name) => name.endsWith('.ts') && !/test/.test(name))
      .map((name) => readFileSync(new URL(name, folder), 'utf8'))
      .join('\n')
    const names = [...home, ...office, ...invented, ...shop].map(({ name }) => name).filter((name) => /_|[A-Z]/.test(name))
    expect(names.filter((name) => source.includes(name))).toEqual([])
  })
})
