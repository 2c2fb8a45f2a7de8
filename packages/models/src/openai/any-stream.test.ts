import { expect, test } from 'vitest'
import { failures } from '../model-error/failure.ts'
import { events, expectSameAtEveryBorder } from '../testing/wire.ts'
import { responsesReader } from './answer.ts'
import { openai } from './openai.ts'
import {
  added,
  argues,
  asks,
  call,
  calls,
  completed,
  delta,
  ended,
  message,
  opening,
  reasoning,
  says,
  stops,
  textEnd,
  thinks,
  thought,
  usage,
  whole,
} from './testing/events.ts'

const modelOn = (fetch: typeof globalThis.fetch) => openai({ model: 'gpt-5.2', apiKey: 'k', fetch })

test('nothing comes twice or is lost, whichever events are left out', () => {
  const full = [
    added(0, { ...reasoning(), encrypted_content: 'half' }),
    delta('reasoning_summary_text', 0, 'think', { summary_index: 0 }),
    whole('reasoning_summary_text', 0, { summary_index: 0, text: 'think' }),
    ended(0, reasoning('think')),
    added(1, opening),
    delta('output_text', 1, 'text', { content_index: 0 }),
    whole('output_text', 1, { content_index: 0, text: 'text' }),
    ended(1, message('text')),
    added(2, call('')),
    delta('function_call_arguments', 2, '{}'),
    whole('function_call_arguments', 2, { arguments: '{}' }),
    ended(2, call('{}')),
  ]
  const output = [reasoning('think'), message('text'), call('{}')]
  for (let mask = 0; mask < 2 ** full.length; mask++) {
    const stream = [...full.filter((_, at) => mask & (1 << at)), completed(output)]
    const reader = responsesReader(failures('openai', 'gpt-5.2'), new Headers())
    const parts = [...stream.flatMap((event) => [...reader.push({ ...event })]), ...reader.end()]
    const texts = parts.map((part) => (part.type === 'text_delta' ? part.text : '')).join('')
    const thoughts = parts.map((part) => (part.type === 'reasoning_delta' ? part.text : '')).join('')
    const deltas = parts.map((part) => (part.type === 'tool_call_delta' ? part.delta : '')).join('')
    const ends = parts.filter(
      (part) => part.type !== 'text_delta' && part.type !== 'reasoning_delta' && part.type !== 'tool_call_delta',
    )
    expect([texts, thoughts, deltas], `events ${mask.toString(2)}`).toEqual(['text', 'think', '{}'])
    expect(new Set(ends), `events ${mask.toString(2)}`).toEqual(
      new Set([thought(reasoning('think')), textEnd(), calls('{}'), asks]),
    )
    expect(ends.length).toBe(4)
  }
})

test.for([
  [
    'text',
    [
      added(0, opening),
      delta('output_text', 0, 'Grüße '),
      delta('output_text', 0, '東京 😀'),
      completed([message('Grüße 東京 😀')], { usage }),
    ],
    [says('Grüße '), says('東京 😀'), textEnd(), { type: 'usage', usage: { inputTokens: 12, outputTokens: 7 } }, stops],
  ],
  [
    'reasoning',
    [delta('reasoning_summary_text', 0, '€'), ended(0, reasoning('€')), ended(1, message('é')), completed()],
    [thinks('€'), thought(reasoning('€')), says('é'), textEnd(), stops],
  ],
  [
    'two calls',
    [
      added(0, call('')),
      added(1, call('', '2', 'mul')),
      delta('function_call_arguments', 1, '{"b":2}'),
      delta('function_call_arguments', 0, '{"a":"ü"}'),
      completed(),
    ],
    [argues('{"a":"ü"}'), calls('{"a":"ü"}'), argues('{"b":2}', '2', 'mul'), calls('{"b":2}', '2', 'mul'), asks],
  ],
] as const)('a stream of %s gives the same parts wherever it is cut', async ([, stream, parts]) => {
  expect.hasAssertions()
  await expectSameAtEveryBorder(modelOn, events(stream), parts)
})
