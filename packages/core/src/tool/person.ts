import type { Layer } from '../chain/layer.ts'
import type { Pass } from '../chain/pass.ts'
import { allow, deny } from '../decision.ts'
import type { AllowArgs, Deny } from '../decision.ts'
import { sameJson } from '../freeze.ts'
import { isObject } from '../json.ts'
import type { Json, JsonObject } from '../json.ts'
import { within } from '../run/waiting.ts'
import type { Waiting } from '../run/waiting.ts'
import type { Call } from './call.ts'
import type { Tool } from './define.ts'

/** What a person says. */
export type Answer = AllowArgs | Deny

/** The questions of one run that nobody has answered. */
export class Questions {
  readonly #open = new Map<string, (answer: Answer) => void>()

  /** @returns the answer, once it comes. A call has one question at a time. */
  open(callId: string): Promise<Answer> {
    return new Promise((resolve) => this.#open.set(callId, resolve))
  }

  /** @returns whether there was such a question */
  answer(callId: string, answer: Answer): boolean {
    const settle = this.#open.get(callId)
    this.#open.delete(callId)
    settle?.(answer)
    return settle !== undefined
  }

  close(callId: string): void {
    this.#open.delete(callId)
  }
}

/** A place in the onion that no middleware has. */
function place(name: string, index: number): Layer {
  return { index, name, middleware: { name }, errors: 'raise', conditions: [], filters: [] }
}

/** Stands innermost, and may answer every question. */
const person: Layer = place('person', -1)

/** Whose a tool's own question is: every layer may answer it. */
export function toolAsks({ name }: Tool): Layer {
  return place(`tool '${name}'`, Infinity)
}

/** Does the tool itself want these arguments to be approved? A predicate that fails means yes. */
export async function needsApproval({ tool, output }: Call): Promise<boolean> {
  const needs = tool?.needsApproval ?? false
  if (typeof needs !== 'function') return needs
  try {
    return await needs(output)
  } catch {
    return true
  }
}

/** The innermost of a question's layers: the person's answer, where no layer that may has given one. */
export async function askPerson(call: Call, pass: Pass, answered: Promise<Answer>, waiting: Waiting): Promise<unknown> {
  const { kind } = pass.decision ?? {}
  if (kind === 'allow' || kind === 'deny') return pass.outcome()
  const answer = await within(waiting, answered, call.run.cancellation)
  pass.decide(answer ? raw(answer, call) : deny(`nobody answered within ${waiting.timeoutMs} ms`), person, true)
  if (!answer) pass.by = undefined
  // A yes is to what the person was shown, whatever a layer further out has made of it since.
  else if (answer.kind === 'allow' && answer.args === undefined) pass.decidedOn = call.args
  return pass.outcome()
}

/** What a person left as a sanitizer had shown it keeps what stood there. */
function raw(answer: Answer, { run: { sanitizer }, args }: Call): Answer {
  if (!sanitizer || answer.kind === 'deny' || answer.args === undefined) return answer
  return allow({ args: restored(answer.args, sanitizer.args(args), args) as JsonObject })
}

function restored(edited: Json | undefined, shown: Json | undefined, before: Json | undefined): Json | undefined {
  if (before === undefined || sameJson(edited, shown)) return before ?? edited
  if (Array.isArray(edited) && Array.isArray(shown) && Array.isArray(before))
    return edited.map((item: Json, n) => restored(item, shown[n] as Json | undefined, before[n] as Json | undefined) ?? item)
  if (!isJsonObject(edited) || !isJsonObject(shown) || !isJsonObject(before)) return edited
  return Object.fromEntries(Object.entries(edited).map(([name, value]) => [name, restored(value, shown[name], before[name])]))
}

function isJsonObject(value: Json | undefined): value is JsonObject {
  return isObject(value)
}
