import type { JsonObject, ToolSpec } from '@koagent/core'

type Kind = 'text' | 'number' | 'integer' | 'flag' | 'texts'

const schemas: Record<Kind, JsonObject> = {
  text: { type: 'string' },
  number: { type: 'number' },
  integer: { type: 'integer' },
  flag: { type: 'boolean' },
  texts: { type: 'array', items: { type: 'string' } },
}

/** A tool in short: `name?` is an optional parameter, a list of words a choice between them. */
export function tool(
  name: string,
  description: string,
  parameters: Record<string, Kind | JsonObject | readonly string[]> = {},
): ToolSpec {
  const properties: Record<string, JsonObject> = {}
  const required: string[] = []
  for (const [key, kind] of Object.entries(parameters)) {
    const property = key.replace('?', '')
    if (property === key) required.push(key)
    properties[property] =
      typeof kind === 'string' ? schemas[kind] : Array.isArray(kind) ? { type: 'string', enum: kind } : (kind as JsonObject)
  }
  return { name, description, inputSchema: { type: 'object', properties, required } }
}

export const home: readonly ToolSpec[] = [
  tool('get_humidity', 'Current humidity of a room', { room: 'text' }),
  tool('setBlinds', 'Raise or lower the blinds', { room: 'text', position: ['open', 'half', 'closed'] }),
  tool('start_dishwasher', 'Starts the dishwasher', { program: ['eco', 'intensive'], 'delay_minutes?': 'integer' }),
  tool('water_garden', 'Water the garden', { minutes: 'integer', 'zones?': 'texts' }),
  tool('alarm_system', 'Arms or disarms the alarm', { armed: 'flag' }),
  tool('heatingMode', 'Controls the heating', { 'enabled?': 'flag', 'temperature?': 'number' }),
]

export const office: readonly ToolSpec[] = [
  tool('send_invitation', 'Invite people to a meeting', { emails: 'texts', title: 'text', 'when?': 'text' }),
  tool('find_colleague', 'Look up a person in the staff directory', { name: 'text' }),
  tool('exchange_money', 'Exchange an amount from one currency to another', { amount: 'number', from: 'text', to: 'text' }),
  tool('convert_length', 'Convert a length between units', { value: 'number', from_unit: 'text', to_unit: 'text' }),
  tool('runSql', 'Query the sales database', { statement: 'text' }),
  tool('translate_phrase', 'Translate a phrase', { phrase: 'text', language: 'text' }),
  tool('file_expense', 'Files an expense report', {
    amount: 'number',
    category: ['travel', 'meals', 'other'],
    'comment?': 'text',
  }),
  tool('postChat', 'Post to a chat channel', { channel: 'text', message: 'text' }),
  tool('get_sunrise', 'Time of sunrise at a place', {
    place: { type: 'string', description: 'City' },
    'date?': { type: 'string', format: 'date' },
  }),
]

export const invented: readonly ToolSpec[] = [
  tool('glorb_the_fnord', 'Glorbs a fnord', { fnord: 'text', 'strength?': 'integer' }),
  tool('quaxify', 'Turns a zibble into a quax', { zibble_id: 'text', gently: 'flag' }),
  tool('list_zibbles', 'Lists the zibbles', { 'limit?': 'integer' }),
  tool('discard_zibble', 'Discards one zibble', { id: 'text' }),
  tool('plonk', ''),
]

export const shop: readonly ToolSpec[] = [
  tool('shop__search_items', 'Search the catalogue', { query: 'text', 'max_price?': 'number', 'in_stock?': 'flag' }),
  tool('shop__get_order', 'One order, with its state', { order_id: 'text' }),
  tool('shop__cancel_order', 'Cancel an order', { order_id: 'text', 'reason?': 'text' }),
  tool('shop__ship', 'Ship a parcel', {
    address: { type: 'object', properties: { street: { type: 'string' }, city: { type: 'string' } }, required: ['city'] },
    weight_kg: 'number',
    'express?': 'flag',
  }),
  tool('fetch_page', 'Download a web page', { url: 'text' }),
  tool('compute', 'Evaluates an arithmetic expression', { expression: 'text' }),
  tool('save_text', 'Write text into a file', { path: 'text', text: 'text' }),
  tool('rename_file', 'Give a file another name', { source: 'text', target: 'text' }),
  tool('shop__loyalty', 'Bonus points of a customer', { customer: 'text' }),
  tool('remind', 'Set a reminder', { about: 'text', when: 'text' }),
]

export const repository: readonly ToolSpec[] = [
  tool('list_files', 'List the files of a directory', {
    path: { type: 'string', description: 'Directory, relative to the root' },
  }),
  tool('read_file', 'Read a text file', { path: 'text', 'maxLines?': 'integer' }),
  tool('search_files', 'Search the files for a text', {
    query: 'text',
    'path?': { type: 'string', description: 'Directory to search in' },
  }),
  tool('run_command', 'Run a shell command', { command: 'text' }),
]
