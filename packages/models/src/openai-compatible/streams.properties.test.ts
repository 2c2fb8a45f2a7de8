import { ModelError } from '@koagent/core'
import type { ModelPart } from '@koagent/core'
import {
  array,
  assert,
  asyncProperty,
  boolean,
  constantFrom,
  integer,
  jsonValue,
  nat,
  oneof,
  record,
  string,
  tuple,
  uint8Array,
} from 'fast-check'
import type { Arbitrary } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bytes, partsOf, streamed, wire } from '../testing/wire.ts'
import { openaiCompatible } from './openai-compatible.ts'
import { answerOf, calls, delta, done, sent } from './testing/chunks.ts'
import type { Fragment } from './testing/chunks.ts'

interface Call {
  readonly name: string
  readonly args: string
  /** Where the text of the arguments is cut. */
  readonly cuts: readonly number[]
}

const call: Arbitrary<Call> = record({
  name: constantFrom('add', 'mul', 'find_all'),
  args: jsonValue({ maxDepth: 1 }).map((value) => JSON.stringify({ value })),
  cuts: array(nat(30), { maxLength: 4 }),
})

/** How a server puts the pieces of a call, given its place, its id and its name. The first piece has no arguments, or all where there is but one. */
type Dialect = (place: number, id: string, name: string, pieces: readonly string[]) => readonly Fragment[]

const no = undefined
const later = (pieces: readonly string[], fragment: (args: string, at: number) => Fragment): Fragment[] => pieces.map(fragment)

/** Those that may send the pieces of several calls in any order. */
const interleaving: Record<string, Dialect> = {
  'by index, as OpenAI': (place, id, name, pieces) => [[place, id, name, ''], ...later(pieces, (args) => [place, no, no, args])],
  'by index, with empty ids and names': (place, id, name, pieces) => [
    [place, id, name, ''],
    ...later(pieces, (args) => [place, '', '', args]),
  ],
  'by index as text': (place, id, name, pieces) => [
    [`${place}`, id, name, no],
    ...later(pieces, (args) => [`${place}`, no, no, args]),
  ],
  'all in every fragment': (place, id, name, pieces) => later(['', ...pieces], (args) => [place, id, name, args]),
  'by id alone': (_, id, name, pieces) => [[no, id, name, no], ...later(pieces, (args) => [no, id, no, args])],
  'by id, with index always 0': (_, id, name, pieces) => later(['', ...pieces], (args) => [0, id, name, args]),
  'with an id of its own for each fragment': (place, id, name, pieces) => [
    [place, id, name, ''],
    ...later(pieces, (args, at) => [place, `${id}-${at}`, no, args]),
  ],
  'with a late name': (place, id, name, pieces) => [
    [place, id, '', pieces[0]],
    [place, id, name, ''],
    ...later(pieces.slice(1), (args) => [place, id, no, args]),
  ],
  'with all of the arguments once more at the end': (place, id, name, pieces) => [
    [place, id, name, ''],
    ...later(pieces, (args) => [place, no, no, args]),
    [place, id, name, pieces.join('')],
  ],
}

/** Those that send one call after the other. */
const oneByOne: Record<string, Dialect> = {
  ...interleaving,
  'by order alone, after an id': (_, id, name, pieces) => [[no, id, name, ''], ...later(pieces, (args) => [no, no, no, args])],
  'with index always 0': (_, id, name, pieces) => [[0, id, name, ''], ...later(pieces, (args) => [0, no, no, args])],
  'whole, without an index': (_, id, name, pieces) => [[no, id, name, pieces.join('')]],
  'whole, as an object': (place, id, name, pieces) => [[place, id, name, JSON.parse(pieces.join('')) as unknown]],
  'with no arguments first': (place, id, name, pieces) => [
    [place, id, name, '{}'],
    ...later(pieces, (args) => [place, no, no, args]),
  ],
}

function piecesOf({ args, cuts }: Call): string[] {
  const at = [0, ...cuts.map((place) => 1 + (place % (args.length - 1))).toSorted((a, b) => a - b), args.length]
  return at.slice(1).map((end, index) => args.slice(at[index], end))
}

/** Draws from several lists, each in its order, by what `picks` say. Each list's first entry comes before the next list's. */
function interleaved<Item>(lists: readonly (readonly Item[])[], picks: readonly number[]): Item[] {
  const heads = lists.map(([first]) => first).filter((first) => first !== undefined)
  const rest = lists.map((list) => list.slice(1))
  const tail: Item[] = []
  for (let turn = 0; rest.some((list) => list.length > 0); turn++) {
    const open = rest.filter((list) => list.length > 0)
    const next = open[(picks[turn % picks.length] ?? 0) % open.length]?.shift()
    if (next !== undefined) tail.push(next)
  }
  return [...heads, ...tail]
}

/** The model of a server that sends these bytes, in these pieces. */
function partsFrom(pieces: readonly Uint8Array[]): Promise<ModelPart[]> {
  return partsOf(openaiCompatible({ baseURL: 'http://acme.test/v1', model: 'm1', fetch: wire(() => streamed(pieces)).fetch }))
}

async function expectCalls(
  dialect: Dialect,
  list: readonly Call[],
  picks: readonly number[] | undefined,
  chunked: boolean,
): Promise<void> {
  const each = list.map((one, place) => dialect(place, `id${place}`, one.name, piecesOf(one)))
  const fragments = picks ? interleaved(each, picks) : each.flat()
  // A chunk may hold one fragment, or those of one moment.
  const chunks = chunked ? fragments.map((one) => calls(one)) : [calls(...fragments)]
  const parts = await partsFrom([bytes([...chunks, delta({}, 'stop'), done].join(''))])
  expect(answerOf(parts)).toMatchObject({
    calls: list.map(({ name, args }, place) => ({ id: `id${place}`, name, args })),
    reason: list.length > 0 ? 'tool_calls' : 'other',
  })
}

describe('the calls that were put in come out, in order,', () => {
  const list = array(call, { minLength: 1, maxLength: 4 })

  test.for(Object.entries(oneByOne))('%s, one by one', async ([, dialect]) => {
    await assert(
      asyncProperty(list, (all) => expectCalls(dialect, all, undefined, true)),
      { numRuns: 60 },
    )
  })

  test.for(Object.entries(interleaving))('%s, interleaved', async ([, dialect]) => {
    await assert(
      asyncProperty(list, array(nat(3), { minLength: 1 }), boolean(), (all, picks, chunked) =>
        expectCalls(dialect, all, picks, chunked),
      ),
      { numRuns: 60 },
    )
  })
})

/** Values that stand where others belong. */
const odd = oneof(
  constantFrom(null, '', '0', 0, -1, 1.5, true, [], {}, 'error', 'stop', '{}', '{"a":1}', '[DONE]'),
  jsonValue({ maxDepth: 2 }),
)
const choice = record(
  {
    index: odd,
    finish_reason: odd,
    usage: odd,
    message: odd,
    delta: oneof(
      odd,
      record(
        {
          content: oneof(
            odd,
            array(record({ type: constantFrom('text', 'thinking', 'x'), text: odd, thinking: odd }, { requiredKeys: [] })),
          ),
          reasoning: odd,
          reasoning_content: odd,
          reasoning_details: oneof(
            odd,
            array(record({ type: constantFrom('reasoning.text', 'x'), text: odd, index: odd, id: odd, signature: odd })),
          ),
          refusal: odd,
          tool_calls: oneof(
            odd,
            array(
              record(
                { index: odd, id: odd, extra_content: odd, function: oneof(odd, record({ name: odd, arguments: odd })) },
                { requiredKeys: [] },
              ),
            ),
          ),
        },
        { requiredKeys: [] },
      ),
    ),
  },
  { requiredKeys: [] },
)
const chunk = oneof(
  odd,
  record(
    { choices: oneof(odd, array(choice, { maxLength: 3 })), usage: odd, error: odd, type: odd, message: odd },
    { requiredKeys: [] },
  ),
)
const garbage = oneof(
  chunk.map(sent),
  array(chunk, { maxLength: 3 }).map((all) => all.map((one) => `${JSON.stringify(one)}\n`).join('')),
  string({ unit: 'binary' }),
  constantFrom('data: {', 'event: error\n', '\n\n', '\r', ':', 'data: data:', done, '\uFEFF'),
)

test('of any stream come parts and one finish, or a ModelError, and nothing else', async () => {
  const stream = oneof(
    array(garbage, { maxLength: 8 }).map((texts) => bytes(texts.join(''))),
    uint8Array(),
  )
  await assert(
    asyncProperty(stream, integer({ min: 0, max: 400 }), boolean(), async (all, at, ends) => {
      const rest = ends ? [bytes(`\n\n${delta({}, 'stop')}${done}`)] : []
      const parts = await partsFrom([all.subarray(0, at), all.subarray(at), ...rest]).catch((thrown: unknown) => thrown)
      if (!Array.isArray(parts)) {
        expect(parts).toBeInstanceOf(ModelError)
        // That is what anything else that was thrown would be called.
        expect(String(parts)).not.toContain('cannot be asked')
      } else {
        expect(parts.findIndex(({ type }: ModelPart) => type === 'finish')).toBe(parts.length - 1)
        for (const field of ['text', 'delta', 'toolName'])
          expect(parts).not.toContainEqual(expect.objectContaining({ [field]: '' }))
      }
    }),
    { numRuns: 400 },
  )
})

test('a stream that is cut off anywhere is whole, or fails as cut off', async () => {
  await assert(
    asyncProperty(tuple(array(call, { minLength: 1, maxLength: 2 }), nat()), async ([list, place]) => {
      const chunks = list.flatMap(({ name, args }, index) => [
        calls([index, `id${index}`, name, '']),
        calls([index, no, no, args]),
      ])
      const all = bytes([...chunks, delta({}, 'tool_calls'), done].join(''))
      const parts = await partsFrom([all.subarray(0, place % all.length)]).catch((thrown: unknown) => thrown)
      if (Array.isArray(parts))
        expect(answerOf(parts as ModelPart[]).calls.map(({ args }) => args)).toEqual(list.map(({ args }) => args))
      else expect(parts).toMatchObject({ name: 'ModelError', retryable: true })
    }),
    { numRuns: 60 },
  )
})
