import type { Layer } from '../chain/layer.ts'
import type { Pass } from '../chain/pass.ts'
import type { ReplaceResult } from '../decision.ts'
import type { ToolError } from '../errors.ts'
import { sameJson } from '../freeze.ts'
import type { JsonObject } from '../json.ts'
import type { Call } from './call.ts'
import { askPerson, needsApproval, toolAsks } from './person.ts'
import type { Validated } from './schema.ts'
import { errorResult, toResult } from './serialise.ts'

/** What a layer puts in the place of an execution. */
export interface Replacement {
  readonly decision: ReplaceResult
  readonly by?: Layer
}

/**
 * What the gates said of a call that goes on: what is carried out, and the question that must be answered with yes before.
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
 *        ├── replaced ←───────────────┤ yes
 *        └── executed ←───────────────┘ yes
 */
export interface Verdict {
  readonly replaced?: Replacement | undefined
  readonly question?: Question | undefined
}

/** Nothing where the gates refused the call: then it has been answered. */
export type Ruling = Verdict | void | Promise<Verdict | void>

interface Question {
  readonly reason: string
  readonly asker: Layer
}

/** What is said of a call where nobody has anything to say. */
const passed: Verdict = {}

/** Takes a call through its gates. A promise only where there is somebody to ask, or a schema that takes its time. */
export function judge(call: Call): Ruling {
  const invalid = validate(call)
  const { chains } = call.run
  const isAsked = chains.at.on_permission || chains.at.before_tool || call.tool?.needsApproval
  return invalid || isAsked ? askGates(call, invalid) : passed
}

/** @param editor who made its arguments what they are, where it was not the model */
async function askGates(call: Call, checked: Checked, editor?: Layer): Promise<Verdict | void> {
  let permission: Pass | undefined
  let hook: Pass | undefined
  let judged: JsonObject
  do {
    judged = call.args
    const invalid = await (hook ? validate(call) : checked)
    if (invalid) return answerInvalid(call, invalid, hook?.writer ?? editor)
    const asking = call.through('on_permission')
    permission = asking instanceof Promise ? await asking : asking
    if (permission?.decision?.kind === 'deny') return deny(call, permission.decision.reason, permission.by)
    // It is asked once, and on_permission again about what it made of the arguments.
    if (hook) break
    const preparing = call.through('before_tool')
    hook = preparing instanceof Promise ? await preparing : preparing
    if (!hook) break
    call.addContext(hook.context)
    call.args = hook.fields.args as JsonObject
    if (hook.stop) call.run.stopping ??= hook.stop.reason
    const { decision } = hook
    if (decision?.kind === 'deny') return call.answer('blocked', errorResult(`Blocked by hook: ${decision.reason}`), hook.by)
  } while (!sameJson(call.args, judged))
  if (hook?.stop) return call.answer('blocked', toResult(hook.stop.result ?? hook.stop.reason), hook.stopBy)
  const [one, other] = [questionOf(permission), questionOf(hook)]
  const isOther = other && (!one || other.asker.index < one.asker.index)
  const question = isOther ? other : one
  const isOpen = !permission?.decision && !hook?.decision
  return { replaced: hook?.replacement, question: question ?? (isOpen ? await toolsQuestion(call) : undefined) }
}

/** The tool's own question, where it has one about these arguments. */
async function toolsQuestion(call: Call): Promise<Question | undefined> {
  const { tool } = call
  if (!tool?.needsApproval || !(await needsApproval(call))) return undefined
  return { reason: `the tool '${tool.name}' needs approval`, asker: toolAsks(tool) }
}

function questionOf(gate: Pass | undefined): Question | undefined {
  return gate?.decision?.kind === 'ask' && gate.by ? { reason: gate.decision.reason, asker: gate.by } : undefined
}

/** How often a person may edit a call's arguments. */
const maxEdits = 3

/** Puts a question to the layers of on_permission_request. With nobody to answer it, the call is denied. */
export async function consult(call: Call, first: Verdict): Promise<Verdict | void> {
  let verdict: Verdict | void = first
  for (let edits = 0; verdict && verdict.question; edits++) {
    const pass: Pass | void = await putQuestion(call, verdict.question)
    if (!pass) return
    const { by, decidedOn: yes, writer } = pass
    const args = pass.fields.args as JsonObject
    if (sameJson(args, call.args) && sameJson(yes, args)) return verdict
    if (edits === maxEdits) return deny(call, `the arguments were edited more than ${maxEdits} times`, by)
    // An edit is fresh input: it passes every gate again. What layers noted was about the arguments before it.
    call.args = args
    call.context = `The arguments were edited by whoever gave permission, to ${JSON.stringify(args)}.`
    verdict = await askGates(call, validate(call), writer)
    // A yes counts for exactly the arguments it was given for, and for a question that its giver may answer.
    if (verdict && verdict.question && sameJson(call.args, yes) && by && by.index <= verdict.question.asker.index) return verdict
  }
  return verdict
}

/** One round of a question: asked, answered, told. @returns the pass that said yes; after a no the call has been answered */
async function putQuestion(call: Call, { reason, asker }: Question): Promise<Pass | void> {
  const { run, which, args } = call
  const { approvals } = run
  let no: string | undefined = 'the run ended before an answer'
  let pass: Pass | undefined
  // Open before it is told: the answer may come with the event.
  const answered = approvals && run.controller.questions.open(call.part.callId)
  await run.emit('permission_request', { args, reason, asker: asker.name, ...which }, call)
  try {
    const innermost = answered && ((asked: Pass) => askPerson(call, asked, answered, approvals))
    const fields = call.fields({ reason, asker: asker.name })
    pass = await run.through('on_permission_request', call, fields, { yesUpTo: asker.index, innermost })
    const decision = pass?.decision
    no = decision?.kind === 'deny' ? decision.reason : decision ? undefined : `${reason} (nobody to ask)`
  } finally {
    if (answered) run.controller.questions.close(call.part.callId)
    const told = no === undefined ? { decision: 'allow' as const } : { decision: 'deny' as const, reason: no }
    const edited = (pass?.fields.args ?? args) as JsonObject
    await run.emit('permission_resolved', { args: edited, ...which, ...told, ...(pass?.by && { by: pass.by.name }) }, call)
  }
  call.approved = no === undefined
  return no === undefined ? pass : deny(call, no, pass?.by ?? asker)
}

/** What is wrong with a call, for the model. A promise only where the schema takes its time. */
type Checked = ToolError | undefined | Promise<ToolError | undefined>

function validate(call: Call): Checked {
  const { part, tool, run } = call
  if (!tool) {
    const names = call.batch.offered.map(({ name }) => name).join(', ')
    const those = names ? `The tools are: ${names}.` : 'There are no tools: answer in text.'
    return call.error(`There is no tool '${part.toolName}'. ${those}`)
  }
  const { name, schema } = tool
  if (part.rawArgs !== undefined && call.args === part.args) {
    const text = part.rawArgs
    return call.error(`The arguments of '${name}' are no JSON object (${jsonProblem(text)}): ${text.slice(0, 2_000)}`)
  }
  const take = (checked: Validated): ToolError | undefined => {
    if (!checked.ok) return call.error(`Invalid arguments for '${name}': ${checked.issues}`)
    call.output = checked.output
    return undefined
  }
  const checked = schema.validate(call.args)
  return checked instanceof Promise ? run.cancellation.wait(checked).then(take) : take(checked)
}

function jsonProblem(text: string): string {
  try {
    return `it is ${JSON.stringify(JSON.parse(text)).slice(0, 40)}`
  } catch (error) {
    return (error as Error).message
  }
}

/** A call that cannot run as asked: on_error hears of it once; it passes no gate and no after_tool, unless a layer puts a result of its own. */
async function answerInvalid(call: Call, error: ToolError, by: Layer | undefined): Promise<Verdict | void> {
  const decision = await call.run.askOnError({ error, phase: 'tool', toolCall: call.part }, call)
  if (decision?.kind === 'raise') throw decision.error
  if (decision?.kind === 'replace_result') return { replaced: { decision } }
  return call.answer('invalid', errorResult(error.message), by, error)
}

function deny(call: Call, reason: string, by: Layer | undefined): void | Promise<void> {
  return call.answer('denied', errorResult(`Permission denied: ${reason}`), by)
}
