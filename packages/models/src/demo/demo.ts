import type { Model, ModelPart, ModelRequest } from '@koagent/core'
import { announcement, refusal, summary } from './answer.ts'
import { fits, plan } from './plan/plan.ts'
import type { Plan } from './plan/plan.ts'
import { situationOf } from './situation.ts'
import type { Situation } from './situation.ts'

/** Options of {@link demoModel}. */
export interface DemoModelOptions {
  /** A pause before every part of an answer, in milliseconds, for people who watch. Default: 0, none. */
  readonly delayMs?: number
}

/**
 * A model for trying things out, without a key, a network or weights: rules match the person's words to the tools on offer, and call
 * those that fit. It reads English only, the first 4,000 characters of a message, knows no
 * tool beforehand, and says so where the words leave something open.
 *
 * Contract: that of `Model`. The same request gives the same answer. In one run it makes no call twice, whatever became of it.
 *
 * @example
 * const agent = new Agent({ name: 'demo', model: demoModel(), tools: [listFiles, readFile] })
 * console.log((await agent.run('List the files, then read README.md')).text)
 */
export function demoModel({ delayMs = 0 }: DemoModelOptions = {}): Model {
  return {
    provider: 'koagent',
    id: 'demo-rule-planner',
    async *stream(request, { signal }) {
      signal.throwIfAborted()
      for (const part of answer(request)) {
        await pause(delayMs, signal)
        yield part
      }
    },
  }
}

/** An estimate, as there is no tokenizer. */
const charsPerToken = 4

function* answer(request: ModelRequest): Generator<ModelPart> {
  const situation = situationOf(request.messages)
  const { calls, unmet } = planFor(request, situation)
  const isBarred = request.toolChoice === 'none' && calls.length > 0
  const words = isBarred
    ? refusal(calls)
    : calls.length > 0
      ? announcement(calls)
      : summary(situation.outcomes, unmet, request.tools)
  const max = (request.settings?.maxOutputTokens ?? Infinity) * charsPerToken
  const isCut = words.length > max
  const made = isBarred || isCut ? [] : calls
  let written = 0

  for (const text of words.slice(0, max).match(/\s*(?:\S+\s*){1,3}/g) ?? []) {
    written += text.length
    yield { type: 'text_delta', text }
  }
  for (const [index, { toolName, args }] of made.entries()) {
    const callId = freeId(situation.callIds, `call_${request.messages.length}_${index}`)
    const json = JSON.stringify(args)
    written += toolName.length + json.length
    for (const delta of inThree(json)) yield { type: 'tool_call_delta', callId, toolName, delta }
    yield { type: 'tool_call', callId, toolName, args: json }
  }
  yield { type: 'usage', usage: { inputTokens: tokensOf(request), outputTokens: Math.ceil(written / charsPerToken) } }
  yield { type: 'finish', reason: isCut ? 'length' : made.length > 0 ? 'tool_calls' : 'stop' }
}

/** The plan for the newest words that a tool fits: a remark in between does not end what was asked before. */
function planFor({ tools, toolChoice }: ModelRequest, { asked }: Situation): Plan {
  const only = typeof toolChoice === 'object' ? toolChoice.toolName : undefined
  const offered = only === undefined ? tools : tools.filter(({ name }) => name === only)
  const current = asked.find(({ words }) => fits(words, offered)) ?? asked[0]
  if (!current) return { calls: [], unmet: [] }
  const whole = plan(current.words, offered, current, toolChoice === 'required' || only !== undefined)
  // Of a single tool that was demanded, nobody wants to hear what it is not for.
  return only === undefined ? whole : { ...whole, unmet: whole.unmet.filter(({ toolName }) => toolName !== undefined) }
}

function tokensOf({ system = '', messages, tools }: ModelRequest): number {
  return Math.ceil((system.length + JSON.stringify(messages).length + JSON.stringify(tools).length) / charsPerToken)
}

function inThree(text: string): string[] {
  const size = Math.ceil(text.length / 3)
  return [text.slice(0, size), text.slice(size, 2 * size), text.slice(2 * size)].filter((part) => part !== '')
}

function freeId(taken: ReadonlySet<string>, wanted: string): string {
  let id = wanted
  for (let nth = 2; taken.has(id); nth++) id = `${wanted}_${nth}`
  return id
}

/** At least a microtask, so that whoever reads can leave. Throws the signal's reason when it is aborted. */
async function pause(delayMs: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    if (delayMs <= 0) return resolve()
    const timer = setTimeout(done, delayMs)
    signal.addEventListener('abort', done)
    function done(): void {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
  })
  signal.throwIfAborted()
}
