import { expect } from 'vitest'
import { Agent, memorySession, RunCancelledError, RunController, textOf } from '@koagent/core'
import type { Input, Middleware, RunOptions, Session, Tool } from '@koagent/core'
import { scripted } from '../scripted.ts'
import type { Script, ScriptedModel } from '../scripted.ts'
import { work } from './ask.ts'
import { execute, expectWhole } from './kit.ts'
import type { Mode, Outcome } from './kit.ts'
import { silent } from './stage.ts'

/** What came of a run that was steered. */
export interface Steered extends Outcome {
  readonly session: Session
  readonly controller: RunController
  readonly model: ScriptedModel
  /** What `steer` returned, call by call. */
  readonly accepted: readonly boolean[]
  /** The history, a line a message. */
  readonly history: readonly string[]
  readonly told: readonly string[]
  readonly undelivered: readonly string[] | undefined
}

/** Steers, and notes whether it was accepted. */
export type Say = (message: Input, options?: { readonly interrupt?: boolean }) => void

/** A message in a line: who, what, and which tools. */
export const lineOf = (message: Session['messages'][number]): string => {
  const names = message.content.flatMap((part) => ('toolName' in part ? [part.toolName] : []))
  return [message.role, textOf(message).trim(), ...names].filter(Boolean).join(' ')
}

/** Runs a script with layers that may speak up. */
export async function steer(
  mode: Mode,
  script: readonly Script[],
  layers: (say: Say, controller: RunController) => Middleware,
  options: RunOptions & { readonly tools?: readonly Tool[] } = {},
): Promise<Steered> {
  const { tools = [work], controller = new RunController(), ...rest } = options
  const session = memorySession()
  const accepted: boolean[] = []
  const say: Say = (message, how) => void accepted.push(controller.steer(message, how))
  const model = scripted(script)
  const agent = new Agent({ model, tools, logger: silent, middleware: [layers(say, controller)] })
  const outcome = await execute(mode, agent, 'go', { ...rest, session, controller })
  expectWhole(outcome, session.messages)
  expect(controller.steer('after the end')).toBe(false)
  expect(controller.cancellation.waiting).toBe(0)
  const result = outcome.result ?? (outcome.error instanceof RunCancelledError ? outcome.error.result : undefined)
  return {
    ...outcome,
    session,
    controller,
    model,
    accepted,
    history: session.messages.map(lineOf),
    told: outcome.events.map((event) =>
      'status' in event && event.type !== 'run_end' ? `${event.type} ${event.status}` : event.type,
    ),
    undelivered: result?.undelivered?.map(textOf),
  }
}

/** Says it once, at the first chance. */
export function once(act: () => void): () => void {
  let done = false
  return () => {
    if (!done) {
      done = true
      act()
    }
  }
}

export const calling: Script = { text: 'let me see', toolCalls: [{ name: 'work' }] }
export const answer: Script = { text: 'done' }

/** In a while, when what waits is waiting. */
export function later(act: () => void): void {
  setImmediate(() => setImmediate(act))
}
