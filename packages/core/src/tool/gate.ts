import type { Layer } from '../chain/layer.ts'
import type { Pass } from '../chain/pass.ts'
import { ToolError } from '../errors.ts'
import { sameJson } from '../freeze.ts'
import type { JsonObject } from '../json.ts'
import type { Call } from './call.ts'
import { errorResult, toResult } from './serialise.ts'

/**
 * What the gates said of a call.
 *
 *   resolve → parse → validate ──invalid──────────────────────────────→ answered
 *        │
 *   on_permission(args) ──deny: denied────────────────────────────────→ answered
 *        │
 *   before_tool ──deny, stop: blocked─────────────────────────────────→ answered
 *        │ args changed: validate, on_permission(final args) ──deny───→ answered
 *        │
 *   strictest of the two: ask ──→ the question ──no: denied───────────→ answered
 *        │                            │ yes, edited: all gates again
 *        ├── replace_result ←─────────┤ yes
 *        └── execute ←────────────────┘ yes
 */
export type Verdict =
  | { readonly kind: 'answered' }
  | { readonly kind: 'execute' }
  | { readonly kind: 'replace'; readonly result: unknown; readonly by: Layer | undefined }
  | { readonly kind: 'ask'; readonly reason: string; readonly asker: Layer; readonly afterYes: Verdict }

const answered: Verdict = { kind: 'answered' }
const execute: Verdict = { kind: 'execute' }

/** Takes a call through its gates. Where they refuse it, it has been answered. */
export async function judge(call: Call): Promise<Verdict> {
  const invalid = await validate(call)
  if (invalid) return answerInvalid(call, invalid)
  return pass(call)
}

/** The gates themselves, of arguments that are valid. Asked again when a person edited them. */
async function pass(call: Call): Promise<Verdict> {
  let permission = await ask(call, 'on_permission')
  if (permission?.decision?.kind === 'deny') return answerDenied(call, permission.decision.reason, permission.by)
  const before = call.args
  const hook = await ask(call, 'before_tool')
  if (hook) {
    call.addContext(hook.context)
    call.args = hook.fields.args as JsonObject
    if (hook.stop) call.run.stopping ??= hook.stop.reason
    if (hook.decision?.kind === 'deny') return answerBlocked(call, `Blocked by hook: ${hook.decision.reason}`, hook.by)
  }
  if (call.args !== before && !sameJson(call.args, before)) {
    const invalid = await validate(call)
    if (invalid) return answerInvalid(call, invalid, hook?.writer)
    permission = await ask(call, 'on_permission')
    if (permission?.decision?.kind === 'deny') return answerDenied(call, permission.decision.reason, permission.by)
  }
  if (hook?.stop) return answerStopped(call, hook.stop.result ?? hook.stop.reason, hook.stopBy)
  const replaced = hook?.replacement
  const afterYes: Verdict = replaced ? { kind: 'replace', result: replaced.decision.result, by: replaced.by } : execute
  const [question] = [permission, hook].filter(isQuestion).toSorted((a, b) => (a.by?.index ?? 0) - (b.by?.index ?? 0))
  if (question?.decision?.kind !== 'ask' || !question.by) return afterYes
  return { kind: 'ask', reason: question.decision.reason, asker: question.by, afterYes }
}

function isQuestion(gate: Pass | undefined): gate is Pass {
  return gate?.decision?.kind === 'ask'
}

function ask(call: Call, point: 'on_permission' | 'before_tool'): Promise<Pass | undefined> {
  const { run, unit, part, tool, args } = call
  return run.through(point, unit, { toolCall: part, toolName: part.toolName, tool, args })
}

/** How often a person may edit a call's arguments. */
const maxEdits = 3

/** Puts a question to the layers of on_permission_request. With nobody to answer it, the call is denied. */
export async function question(call: Call, verdict: Extract<Verdict, { kind: 'ask' }>): Promise<Verdict> {
  let { reason, asker, afterYes } = verdict
  for (let edits = 0; ;) {
    const { yes, no, args, by, writer } = await putQuestion(call, reason, asker)
    if (no !== undefined) return answerDenied(call, no, by ?? asker)
    if (sameJson(args, call.args) && sameJson(yes, args)) return afterYes
    if (++edits > maxEdits) return answerDenied(call, `the arguments were edited more than ${maxEdits} times`, by)
    // An edit is fresh input: it passes every gate again. What layers noted was about the arguments before it.
    call.args = args
    call.context = `Whoever was asked for permission changed the arguments to ${JSON.stringify(args)}.`
    const invalid = await validate(call)
    if (invalid) return answerInvalid(call, invalid, writer)
    const again = await pass(call)
    if (again.kind !== 'ask') return again
    // A yes counts for exactly the arguments it was given for, and for a question that its giver may answer.
    if (sameJson(call.args, yes) && by && by.index <= again.asker.index) return again.afterYes
    ;({ reason, asker, afterYes } = again)
  }
}

interface Answer {
  /** The arguments that the yes was given for. */
  readonly yes: JsonObject | undefined
  /** Why not. */
  readonly no: string | undefined
  /** As they were edited. */
  readonly args: JsonObject
  readonly by: Layer | undefined
  readonly writer: Layer | undefined
}

/** One round of a question: asked, answered, told. */
async function putQuestion(call: Call, reason: string, asker: Layer): Promise<Answer> {
  const { run, unit, part, tool, args } = call
  const which = { callId: part.callId, toolName: part.toolName }
  await run.emit('permission_request', { ...which, args, reason, asker: asker.name }, unit)
  let answer: Answer = { yes: undefined, no: 'the run ended before there was an answer', args, by: undefined, writer: undefined }
  try {
    const fields = { ...which, toolCall: part, tool, args, reason, asker: asker.name }
    answer = answerOf(await run.through('on_permission_request', unit, fields, { yesUpTo: asker.index }), args, reason)
  } finally {
    const { no, by } = answer
    const told = no === undefined ? { decision: 'allow' as const } : { decision: 'deny' as const, reason: no }
    await run.emit('permission_resolved', { ...which, ...told, args: answer.args, ...(by ? { by: by.name } : {}) }, unit)
  }
  return answer
}

function answerOf(asked: Pass | undefined, args: JsonObject, reason: string): Answer {
  const { decision, by, writer, fields } = asked ?? {}
  const no = decision?.kind === 'deny' ? decision.reason : decision ? undefined : `${reason} (nobody to ask)`
  return { yes: asked?.decidedOn, no, args: (fields?.args ?? args) as JsonObject, by, writer }
}

/** @returns what is wrong with the call, for the model */
async function validate(call: Call): Promise<ToolError | undefined> {
  const { part, tool, run } = call
  const wrong = (message: string): ToolError => new ToolError(part.toolName, part.callId, message, { runId: run.runId })
  if (!tool) {
    const names = call.batch.offered.map(({ name }) => name).join(', ')
    return wrong(
      `There is no tool '${part.toolName}'. ${names ? `The tools are: ${names}.` : 'There are no tools: answer in text.'}`,
    )
  }
  if (part.rawArgs !== undefined && call.args === part.args) {
    return wrong(
      `The arguments of '${tool.name}' are no JSON object (${jsonProblem(part.rawArgs)}): ${part.rawArgs.slice(0, 2_000)}`,
    )
  }
  const checked = await run.cancellation.wait(Promise.resolve(tool.schema.validate(call.args)))
  if (!checked.ok) return wrong(`Invalid arguments for '${tool.name}': ${checked.issues}`)
  call.output = checked.output
  call.validatedFor = call.args
  return undefined
}

function jsonProblem(text: string): string {
  try {
    return `it is ${JSON.stringify(JSON.parse(text)).slice(0, 40)}`
  } catch (error) {
    return (error as Error).message
  }
}

/** A call that cannot run as asked: on_error hears of it once; it passes no gate and no after_tool, unless a layer puts a result of its own. */
async function answerInvalid(call: Call, error: ToolError, by?: Layer): Promise<Verdict> {
  const decision = await call.run.askOnError({ error, phase: 'tool', toolCall: call.part }, call.unit)
  if (decision?.kind === 'raise') throw decision.error
  if (decision?.kind === 'replace_result') return { kind: 'replace', result: decision.result, by: undefined }
  await call.answer('invalid', errorResult(error.message), { error, by })
  return answered
}

async function answerDenied(call: Call, reason: string, by: Layer | undefined): Promise<Verdict> {
  await call.answer('denied', errorResult(`Permission denied: ${reason}`), { by })
  return answered
}

async function answerBlocked(call: Call, text: string, by: Layer | undefined): Promise<Verdict> {
  await call.answer('blocked', errorResult(text), { by })
  return answered
}

async function answerStopped(call: Call, result: unknown, by: Layer | undefined): Promise<Verdict> {
  await call.answer('blocked', toResult(result), { by })
  return answered
}
