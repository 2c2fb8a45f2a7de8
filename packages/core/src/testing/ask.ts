import { Agent, defineTool, memorySession, ModelError } from '@koagent/core'
import type { LLMStep, Message, Middleware, RunOptions } from '@koagent/core'
import { scripted } from '../scripted.ts'
import type { Script, ScriptedModel } from '../scripted.ts'
import { execute, expectWhole } from './kit.ts'
import type { Mode, Outcome } from './kit.ts'
import { silent } from './stage.ts'

/** A tool that works. */
export const work = defineTool({ name: 'work', description: 'Works.', input: { type: 'object' }, execute: () => 'done' })

export const busy = (): ModelError => new ModelError('busy', { retryable: true })

/** A step without calls, as a layer may supply it. */
export const stepOf = (text: string): LLMStep => ({
  message: { role: 'assistant', content: [{ type: 'text', text }] },
  toolCalls: [],
  finishReason: 'stop',
  usage: { inputTokens: 1, outputTokens: 1 },
})

/** What came of a run whose LLM steps are looked at. */
export interface Asked extends Outcome {
  readonly model: ScriptedModel
  readonly messages: readonly Message[]
  /** Types of events, with what tells steps apart. */
  readonly told: readonly string[]
}

/** Runs a script with one middleware, or several, and checks that all is whole. */
export async function ask(
  mode: Mode,
  script: readonly Script[],
  hooks: Omit<Middleware, 'name'> | readonly Middleware[],
  options: RunOptions = {},
): Promise<Asked> {
  const model = scripted(script)
  const session = options.session ?? memorySession()
  const middleware = isList(hooks) ? hooks : [{ name: 'm', ...hooks }]
  const agent = new Agent({ model, tools: [work], middleware, logger: silent })
  const outcome = await execute(mode, agent, 'go', { session, ...options })
  expectWhole(outcome, session.messages)
  const told = outcome.events.flatMap((event) => {
    if (event.type === 'text_delta') return [`text ${event.attempt} ${event.text.trim()}`]
    if (event.type === 'step_reset') return [`reset ${event.attempt}`]
    if (event.type === 'retry') return [`retry ${event.attempt} ${event.reason}`]
    return event.type === 'step_begin' || event.type === 'step_end' ? [`${event.type} ${event.attempt}`] : []
  })
  return { ...outcome, model, messages: session.messages, told }
}

function isList(hooks: object | readonly Middleware[]): hooks is readonly Middleware[] {
  return Array.isArray(hooks)
}
