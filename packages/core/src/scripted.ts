import { delay } from 'abort-controller-x'
import { ModelError } from './errors.ts'
import type { JsonObject } from './json.ts'
import type { FinishReason, Model, ModelOptions, ModelPart, ModelRequest, Usage } from './model.ts'

/** One answer of a {@link scripted} model, given in this order: reasoning, text, tool calls, usage, then `error` or the finish. */
export interface ScriptedStep {
  /** Streamed word by word. */
  readonly text?: string
  readonly reasoning?: string
  readonly toolCalls?: readonly ScriptedCall[]
  readonly usage?: Usage
  /** Default: 'tool_calls' when there are some, else 'stop'. */
  readonly finishReason?: FinishReason
  /** Thrown as it is, in place of the finish. */
  readonly error?: unknown
  /** Waits this long before the first part. Default: 0. */
  readonly delayMs?: number
  /** Streamed as they are, in place of all other parts; nothing is added, not even a finish. For garbage and truncated streams. */
  readonly parts?: readonly ModelPart[]
}

/** A call that a {@link scripted} model makes. */
export interface ScriptedCall {
  readonly name: string
  /** An object, or the raw text that the model sends. Default: `{}`. */
  readonly args?: JsonObject | string
  /** Default: 'call_1', 'call_2' and so on, counted over the model's life. An empty string stands for a provider without ids. */
  readonly id?: string
}

/** A step, or a function that makes it from the request. */
export type Script = ScriptedStep | ((request: ModelRequest) => ScriptedStep | Promise<ScriptedStep>)

export interface ScriptedModel extends Model {
  /** Every request so far, oldest first, each as it was when it came in. */
  readonly calls: readonly ModelRequest[]
}

/**
 * A model that answers its first request with the first step, the second with the second, and so on: for tests and samples.
 *
 * Contract: throws a `ModelError` (not retryable) once the script has run out. It looks at the signal only while it waits for
 * `delayMs`, and then throws the signal's reason at once; between its parts it leaves that check to the run.
 *
 * @example
 * const model = scripted([{ toolCalls: [{ name: 'add', args: { a: 1, b: 2 } }] }, { text: 'It is 3.' }])
 */
export function scripted(steps: readonly Script[]): ScriptedModel {
  const calls: ModelRequest[] = []
  let callCount = 0

  async function* play(index: number, request: ModelRequest, options: ModelOptions): AsyncGenerator<ModelPart> {
    const script = steps[index]
    if (!script) {
      const count = steps.length === 1 ? '1 step was' : `${steps.length} steps were`
      throw new ModelError(
        `request ${index + 1} to the scripted model, but only ${count} scripted: add a step, or find out why the run asked again`,
        {
          retryable: false,
          provider: 'scripted',
        },
      )
    }
    const step = typeof script === 'function' ? await script(request) : script
    if (step.delayMs) await delay(options.signal, step.delayMs)
    if (step.parts) yield* step.parts
    else yield* contentOf(step, () => `call_${++callCount}`)
    if (step.error !== undefined) throw step.error
    if (!step.parts) yield { type: 'finish', reason: step.finishReason ?? (step.toolCalls?.length ? 'tool_calls' : 'stop') }
  }

  return {
    provider: 'scripted',
    id: 'scripted',
    calls,
    stream(request, options) {
      // The session's own list grows later, so the record keeps a list of its own.
      return play(calls.push({ ...request, messages: [...request.messages] }) - 1, request, options)
    },
  }
}

function* contentOf(step: ScriptedStep, nextId: () => string): Generator<ModelPart> {
  if (step.reasoning) {
    for (const text of words(step.reasoning)) yield { type: 'reasoning_delta', text }
    yield { type: 'reasoning_end' }
  }
  if (step.text) for (const text of words(step.text)) yield { type: 'text_delta', text }
  for (const { name, args = {}, id } of step.toolCalls ?? []) {
    const call = { callId: id ?? nextId(), toolName: name }
    const json = typeof args === 'string' ? args : JSON.stringify(args)
    if (json) yield { type: 'tool_call_delta', ...call, delta: json }
    yield { type: 'tool_call', ...call, args: json }
  }
  if (step.usage) yield { type: 'usage', usage: step.usage }
}

/** Each word with the white space after it. Joined, they are the text. */
function words(text: string): readonly string[] {
  return text.match(/\S+\s*|\s+/g) ?? []
}
