import { Agent, defineTool } from '@koagent/core'
import type { ModelPart, ModelRequest } from '@koagent/core'
import { hear, heard, question } from './hear.ts'
import { must, mustEqual, promptly } from './must.ts'
import { using } from './subject.ts'
import type { Check, ConformanceSubject } from './subject.ts'

const opaque = 'opaque-5e1f00d'

const thought: readonly ModelPart[] = [
  { type: 'reasoning_delta', text: 'Perhaps 41 is near.' },
  { type: 'reasoning_end', providerData: opaque },
  { type: 'tool_call', callId: 'call_a', toolName: 'measure', args: '{"place":"Linz"}' },
  { type: 'finish', reason: 'tool_calls' },
]

/** Runs an agent with one tool. The requests that the provider got. */
async function run({ model, received }: ConformanceSubject): Promise<readonly string[]> {
  const measure = defineTool({
    name: 'measure',
    description: 'Measures the depth of snow',
    input: { type: 'object', properties: { place: { type: 'string' } } },
    execute: () => 'It is 73 cm deep.',
  })
  const agent = new Agent({ name: 'conformance', instructions: 'Speak of snow.', model, tools: [measure] })
  await promptly(agent.run('How deep is it?'), 'a run')
  const requests = received()
  mustEqual(requests.length, 2, 'the number of requests of a run with one call')
  return requests
}

function mustHold(request: string | undefined, words: readonly string[], which: string): void {
  for (const word of words) must(request?.includes(word) === true, `${which} must hold '${word}', and is: ${request}`)
}

const done = { text: 'Done.' }
const called = { text: 'I measure.', toolCalls: [{ name: 'measure', args: { place: 'Linz' } }] }

export type RequestCheckName =
  | 'a request says what was asked'
  | 'a tool result goes back'
  | 'reasoning goes back'
  | 'opaque data of reasoning goes back'
  | 'two streams at the same time stay apart'
  | 'the request is not changed'

/** What a model sends. */
export const requestChecks: Readonly<Record<RequestCheckName, Check>> = {
  'a request says what was asked': (start) =>
    using(start, [called, done], async (subject) => {
      const [first] = await run(subject)
      mustHold(first, ['Speak of snow.', 'How deep is it?', 'measure', 'Measures the depth of snow', 'place'], 'a request')
    }),

  'a tool result goes back': (start) =>
    using(start, [called, done], async (subject) => {
      const [, second] = await run(subject)
      mustHold(second, ['I measure.', 'Linz', 'It is 73 cm deep.'], 'the request after a call')
    }),

  'reasoning goes back': (start) =>
    using(start, [{ parts: thought }, done], async (subject) => {
      const [, second] = await run(subject)
      mustHold(second, ['Perhaps 41 is near.'], 'the request after reasoning')
    }),

  'opaque data of reasoning goes back': (start) =>
    using(start, [{ parts: thought }, done], async (subject) => {
      const [, second] = await run(subject)
      mustHold(second, [opaque], 'the request after reasoning')
    }),

  'two streams at the same time stay apart': (start) =>
    using(start, [answerOf('alpha', 1), answerOf('beta', 2)], async ({ model }) => {
      const { signal } = new AbortController()
      const first = model.stream(question, { signal })[Symbol.asyncIterator]()
      // The second begins after the first part of the first, so that it is known which answer is whose.
      const begun = await promptly(first.next(), 'the first part')
      const second = model.stream(question, { signal })[Symbol.asyncIterator]()
      const rests = await promptly(Promise.all([restOf(first), restOf(second)]), 'the rest of two answers')
      const answers = [[...(begun.done ? [] : [begun.value]), ...rests[0]], rests[1]]
      for (const [index, word] of ['alpha', 'beta'].entries()) {
        const { text, calls } = heard(answers[index] ?? [])
        const { text: should } = answerOf(word, 0)
        const args = calls.map((call) => call.args)
        mustEqual([text, args], [should, [{ n: index + 1 }]], `text and calls of stream ${index + 1} of two`)
      }
    }),

  'the request is not changed': (start) =>
    using(start, [done, done], async ({ model }) => {
      const request = frozen(conversation())
      await hear(model, request)
      const open = conversation()
      await hear(model, open)
      mustEqual(open, conversation(), 'a request after the call')
    }),
}

async function restOf(iterator: AsyncIterator<ModelPart>): Promise<ModelPart[]> {
  const parts: ModelPart[] = []
  for (;;) {
    const { done, value } = await iterator.next()
    if (done) return parts
    parts.push(value)
  }
}

function answerOf(
  word: string,
  n: number,
): { readonly text: string; readonly toolCalls: { name: string; args: { n: number } }[] } {
  return { text: `${word} `.repeat(20), toolCalls: [{ name: 'add', args: { n } }] }
}

function conversation(): ModelRequest {
  const call = { callId: 'call_a', toolName: 'add' }
  return {
    system: 'Add.',
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'What is 1 + 2?' }] },
      { role: 'assistant', content: [{ type: 'tool_call', ...call, args: { a: 1, b: 2 } }] },
      { role: 'tool', content: [{ type: 'tool_result', ...call, content: [{ type: 'text', text: '3' }], isError: false }] },
    ],
    tools: [{ name: 'add', description: 'Adds', inputSchema: { type: 'object', properties: { a: { type: 'number' } } } }],
    toolChoice: 'auto',
    settings: { maxOutputTokens: 100, extra: { metadata: { run: 'x' } } },
  }
}

/** Frozen all the way down, as what a run sends. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value
  for (const field of Object.values(value)) frozen(field)
  return Object.freeze(value)
}
