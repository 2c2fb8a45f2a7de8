import { describe, expect, test } from 'vitest'
import { partsOf } from '../testing/wire.ts'
import { answered, calls, delta, done, fragment, no, nothing, one, serving } from './testing/chunks.ts'
import type { Answer } from './testing/chunks.ts'

const two: Answer['calls'] = [...one('{"n":1}'), ...one('{"n":2}', 'b', 'mul')]

const cases: readonly (Pick<Answer, 'calls'> & { readonly name: string; readonly stream: readonly string[] })[] = [
  {
    name: 'interleaved calls, matched by index',
    stream: [
      calls([0, 'a', 'add', '']),
      calls([1, 'b', 'mul', '']),
      calls([1, no, no, '{"n"'], [0, no, no, '{"n"']),
      calls([0, no, no, ':1}']),
      calls([1, no, no, ':2}']),
    ],
    calls: two,
  },
  {
    name: 'interleaved calls, matched by id',
    stream: [
      calls([no, 'a', 'add', '{"n"']),
      calls([no, 'b', 'mul', '{"n":']),
      calls([no, 'a', no, ':1}']),
      calls([no, 'b', no, '2}']),
    ],
    calls: two,
  },
  {
    name: 'no index',
    stream: [calls([no, 'a', 'add', '{"n"']), calls([no, no, no, ':1}']), calls([no, 'b', 'mul', '{"n":2}'])],
    calls: two,
  },
  {
    name: 'index always 0, for calls of one tool',
    stream: [calls([0, 'a', 'add', '']), calls([0, no, no, '1']), calls([0, 'b', 'add', '']), calls([0, no, no, '2'])],
    calls: [...one('1'), ...one('2', 'b')],
  },
  {
    name: 'index always 0',
    stream: [calls([0, 'a', 'add', '{"n":1}']), calls([0, 'b', 'mul', '{"n"']), calls([0, no, no, ':2}'])],
    calls: two,
  },
  {
    name: 'an index only from the second fragment on',
    stream: [calls([no, 'a', 'add', no]), calls([0, no, no, '{}'])],
    calls: one('{}'),
  },
  { name: 'indexes that do not begin at 0', stream: [calls([1, 'a', 'add', '{"n":1}'], [2, 'b', 'mul', '{"n":2}'])], calls: two },
  {
    name: 'one id for two calls',
    stream: [calls([0, 'x', 'add', '1']), calls([1, 'x', 'mul', '2'])],
    calls: [...one('1', 'x'), ...one('2', 'x', 'mul')],
  },
  {
    name: 'one id for two calls of one tool',
    stream: [calls([0, 'x', 'add', '1']), calls([1, 'x', 'add', '2'])],
    calls: [...one('1', 'x'), ...one('2', 'x')],
  },
  {
    name: 'one id for two calls, the first without arguments',
    stream: [calls([0, 'x', 'add', '']), calls([1, 'x', 'mul', '2'])],
    calls: [...one('', 'x'), ...one('2', 'x', 'mul')],
  },
  {
    name: 'one id and index for two tools',
    stream: [calls([0, 'x', 'add', '1']), calls([0, 'x', 'mul', '2'])],
    calls: [...one('1', 'x'), ...one('2', 'x', 'mul')],
  },
  {
    name: 'empty ids',
    stream: [calls([0, '', 'add', '{'], [1, '', 'mul', '2']), calls([0, '', no, '}'])],
    calls: [...one('{}', ''), ...one('2', '', 'mul')],
  },
  {
    name: 'empty ids and index always 0',
    stream: [calls([0, '', 'add', '1']), calls([0, '', 'mul', '2'])],
    calls: [...one('1', ''), ...one('2', '', 'mul')],
  },
  {
    name: 'id and name in every fragment',
    stream: [calls([0, 'a', 'add', '{"n"']), calls([0, 'a', 'add', ':1}'])],
    calls: one('{"n":1}'),
  },
  {
    name: 'id and name repeated at the end',
    stream: [calls([0, 'a', 'add', '{"n":1}']), calls([0, 'a', 'add', ''])],
    calls: one('{"n":1}'),
  },
  { name: 'an id that comes late', stream: [calls([0, no, 'add', no]), calls([0, 'a', no, '{}'])], calls: one('{}') },
  {
    name: 'two calls whose ids come late',
    stream: [calls([0, no, 'add', '{"n"'], [1, no, 'mul', '{"n"']), calls([0, 'a', no, ':1}'], [1, 'b', no, ':2}'])],
    calls: [...one('{"n":1}', ''), ...one('{"n":2}', 'b', 'mul')],
  },
  {
    name: 'an id that comes after the first delta',
    stream: [calls([0, no, 'add', '{"n"']), calls([0, 'a', no, ':1}'])],
    calls: one('{"n":1}', ''),
  },
  {
    name: 'a name that comes late',
    stream: [calls([no, 'a', no, '{"n"']), calls([no, 'a', 'add', no]), calls([no, 'a', no, ':1}'])],
    calls: one('{"n":1}'),
  },
  { name: 'an empty name first', stream: [calls([0, 'a', '', no]), calls([0, no, 'add', '{"n":1}'])], calls: one('{"n":1}') },
  { name: 'a slot that stays empty', stream: [calls([0, 'a', 'add', '{}'], [1, '', '', ''])], calls: one('{}') },
  { name: 'arguments as an object', stream: [calls([0, 'a', 'add', { n: 1 }])], calls: one('{"n":1}') },
  { name: 'arguments as null', stream: [calls([0, 'a', 'add', null])], calls: one('') },
  { name: 'arguments as an empty string', stream: [calls([0, 'a', 'add', ''])], calls: one('') },
  {
    name: 'no ids, indexes and arguments, in one chunk',
    stream: [calls([no, no, 'add', no], [no, no, 'add', no])],
    calls: [...one('', ''), ...one('', '')],
  },
  {
    name: 'no ids and indexes, in one chunk',
    stream: [calls([no, no, 'add', { n: 1 }], [no, no, 'add', { n: 2 }])],
    calls: [...one('{"n":1}', ''), ...one('{"n":2}', '')],
  },
  {
    name: 'no ids and indexes, chunk by chunk',
    stream: [calls([no, no, 'add', '{"n":1}']), calls([no, no, 'add', '{"n":2}'])],
    calls: [...one('{"n":1}', ''), ...one('{"n":2}', '')],
  },
  {
    name: 'three calls in one slot, which stay one text',
    stream: [1, 2, 3].map((n) => calls([0, 'a', 'add', `{"n":${n}}`])),
    calls: one('{"n":1}{"n":2}{"n":3}'),
  },
  { name: 'broken arguments, as they came', stream: [calls([0, 'a', 'add', '{"path": "x", }'])], calls: one('{"path": "x", }') },
  {
    name: 'fragments that are none',
    stream: [delta({ tool_calls: [null, 3, 'x', [], fragment([null, 'a', 'add', '{}'])] }), delta({ tool_calls: {} })],
    calls: one('{}'),
  },
  {
    name: 'numbers as ids',
    stream: [calls([no, 1, 'add', '{"n"'], [no, 2, 'mul', '2']), calls([no, 1, no, ':1}'])],
    calls: [...one('{"n":1}', '1'), ...one('2', '2', 'mul')],
  },
  {
    name: 'an id of its own for each fragment',
    stream: [
      calls([0, 'a', 'add', '']),
      calls([0, 'x1', no, '{"n"']),
      calls([0, 'x2', no, ':1}']),
      calls([1, 'b', 'mul', '{"n"']),
      calls([1, 'x3', no, ':2}']),
    ],
    calls: two,
  },
  {
    name: 'an id of its own for each fragment, and no index',
    stream: [calls([no, 'a', 'add', '']), calls([no, 'x1', no, '{"n"']), calls([no, 'x2', no, ':1}'])],
    calls: one('{"n":1}'),
  },
  {
    name: 'an index that is wrong where the id is right',
    stream: [calls([0, 'a', 'add', '{"n":1}']), calls([0, 'b', 'mul', '{"n"']), calls([1, 'b', no, ':2}'])],
    calls: two,
  },
  {
    name: 'an index that is wrong, and no id',
    stream: [calls([0, 'a', 'add', '{"n":1}']), calls([0, 'b', 'mul', '{"n"']), calls([1, no, no, ':2}'])],
    calls: two,
  },
  {
    name: 'one call repeated under another index',
    stream: [calls([0, 'a', 'add', '{"n":1}']), calls([1, 'a', 'add', '{"n":1}'])],
    calls: one('{"n":1}'),
  },
  {
    name: 'indexes as text',
    stream: [calls(['0', 'a', 'add', '{"n"'], ['1', 'b', 'mul', '{"n"']), calls(['0', no, no, ':1}'], ['1', no, no, ':2}'])],
    calls: two,
  },
  {
    name: 'the arguments repeated whole at the end',
    stream: [calls([0, 'a', 'add', '{"n"']), calls([0, no, no, ':1}']), calls([0, 'a', 'add', '{"n":1}'])],
    calls: one('{"n":1}'),
  },
  {
    name: 'empty arguments before the arguments',
    stream: [calls([0, 'a', 'add', '{}']), calls([0, no, no, '']), calls([0, no, no, '{"n"']), calls([0, no, no, ':1}'])],
    calls: one('{"n":1}'),
  },
  {
    name: 'a name in pieces',
    stream: [calls([0, 'a', 'a', '']), calls([0, no, 'dd', no]), calls([0, no, no, '{}']), calls([1, 'b', 'mul', '{"n":2}'])],
    calls: [...one('{}'), ...one('{"n":2}', 'b', 'mul')],
  },
  {
    name: 'a name that grows',
    stream: [calls([0, 'a', 'ad', '']), calls([0, no, 'add', '']), calls([0, no, no, '{}'])],
    calls: one('{}'),
  },
  {
    name: 'a second call of one tool under one slot, with other arguments',
    stream: [calls([0, 'a', 'add', '{}']), calls([0, 'a', 'add', '{"n":2}'])],
    calls: one('{}{"n":2}'),
  },
  {
    name: 'no type, and functions of null',
    stream: [
      delta({ tool_calls: [{ index: 0, id: 'a', function: { name: 'add' } }] }),
      delta({ tool_calls: [{ index: 0, function: null }, { index: 0 }] }),
      delta({ tool_calls: [{ index: 0, type: 'x', function: { arguments: '{}' } }] }),
    ],
    calls: one('{}'),
  },
]

describe('tool calls', () => {
  test.for(cases)('with $name', async ({ stream, calls: expected }) => {
    const answer = await answered(...stream, delta({}, 'tool_calls'), done)
    expect(answer).toEqual({ ...nothing, calls: expected, reason: 'tool_calls', raw: 'tool_calls' })
  })

  test('stream while they come, also under an id of its own for each fragment', async () => {
    const parts = await partsOf(
      serving([
        calls([0, 'a', 'add', '']),
        calls([0, 'x', no, '{"n"']),
        delta({ content: 'hi' }),
        calls([0, 'y', no, ':1}']),
        done,
      ]),
    )
    expect(parts.map((part) => ('delta' in part ? part.delta : part.type))).toEqual([
      '{"n"',
      'text_delta',
      ':1}',
      'tool_call',
      'finish',
    ])
  })
})
