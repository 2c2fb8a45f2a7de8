import type { Json, JsonObject, ToolSpec } from '@koagent/core'
import { textOfClause } from '../words/clauses.ts'
import type { Clause } from '../words/clauses.ts'
import { changesThings, meets, stems } from '../words/words.ts'
import { asksOf } from './asks.ts'
import type { Ask } from './asks.ts'
import { fieldOf, fileNamed, pick } from './earlier.ts'
import type { Outcome } from './earlier.ts'
import { argumentsOf } from './fill.ts'
import { rank, verbTest } from './match.ts'
import type { Match } from './match.ts'
import { isObject, toolFrom } from './tools.ts'
import type { Parameter, Tool } from './tools.ts'

export interface PlannedCall {
  readonly toolName: string
  readonly args: JsonObject
}

/** A part of the request that comes to no call, and why. */
export interface Unmet {
  readonly text: string
  /** The tool that would fit; absent when none does. */
  readonly toolName?: string
  /** What the words leave open. */
  readonly missing: readonly Parameter[]
  /** It asks about results, which the answer quotes. */
  readonly quoted?: true
  /** The call that it builds on, which failed or was denied. */
  readonly after?: string
}

export interface Plan {
  /** What to call in this turn; empty when all is done. */
  readonly calls: readonly PlannedCall[]
  readonly unmet: readonly Unmet[]
}

/** What was called so far. */
export interface History {
  /** For this request. A call whose arguments somebody edited still counts. */
  readonly outcomes: readonly Outcome[]
  /** Before it, in the same run. */
  readonly earlier?: readonly Outcome[]
}

/**
 * What to do next for a request, given what was done for it already.
 *
 * Contract: depends on its arguments only, and never plans a call that was made, nor one call twice. With `force` it plans a call where
 * no tool fits well, as long as there was none.
 */
export function plan(request: string, specs: readonly ToolSpec[], { outcomes, earlier = [] }: History, force = false): Plan {
  const tools = specs.map(toolFrom)
  const asks = asksOf(request, tools)
  const open = [...outcomes]
  const before = [...earlier]
  const settled: Outcome[] = []
  const calls: PlannedCall[] = []
  const unmet: Unmet[] = []
  const planned = new Set<string>()

  for (const [at, ask] of asks.entries()) {
    if (!ask.match) {
      unmet.push({ text: textOfClause(ask.clause), missing: [], ...(ask.reference && { quoted: true }) })
      continue
    }
    const toolName = ask.match.tool.spec.name
    for (const [nth, values] of variants(ask.match).entries()) {
      const completed = complete(values, ask, asks.toSpliced(at, 1), settled)
      // What earlier calls give may fill the gap, so those come first.
      if (completed.missing.length > 0 && calls.length > 0) return { calls, unmet }
      if (completed.missing.length > 0) {
        const failed = ask.reference && settled.findLast(({ result }) => result.isError)
        unmet.push({
          text: textOfClause(ask.clause),
          toolName,
          missing: completed.missing,
          ...(failed && { after: failed.toolName }),
        })
        continue
      }
      const call = { toolName, args: argumentsOf(completed.values) }
      if (planned.has(keyOf(call))) continue
      planned.add(keyOf(call))
      const outcome = takeSame(open, call) ?? takeSame(before, call) ?? takeEdited(open, call)
      if (outcome) {
        settled.push(outcome)
        continue
      }
      const last = calls.at(-1)
      if (last && nth === 0 && (ask.clause.ordered || changesThings(toolName) || changesThings(last.toolName)))
        return { calls, unmet }
      calls.push(call)
    }
  }
  if (asks.length === 0) unmet.push({ text: request, missing: [] })
  if (force && calls.length === 0 && outcomes.length === 0) calls.push(...forced(request, asks, tools))
  return { calls, unmet }
}

/** Does a tool fit at least one part of the request? */
export function fits(request: string, specs: readonly ToolSpec[]): boolean {
  return asksOf(request, specs.map(toolFrom)).some(({ match }) => match)
}

/** One set of values a call: several where the words list several. */
function variants({ filled }: Match): ReadonlyMap<Parameter, Json>[] {
  const { each, values } = filled
  return each ? each.values.map((value) => new Map(values).set(each.parameter, value)) : [values]
}

/** Fills what the words of the clause leave open from what was said and found around it. */
function complete(
  values: ReadonlyMap<Parameter, Json>,
  { clause, match, reference }: Ask,
  others: readonly Ask[],
  settled: readonly Outcome[],
): { values: ReadonlyMap<Parameter, Json>; missing: readonly Parameter[] } {
  const known = new Map([...(match?.filled.assumed ?? []), ...values])
  const missing: Parameter[] = []
  const orderOf = (parameter: Parameter) => match?.tool.parameters.indexOf(parameter) ?? 0
  const good = settled.filter(({ result }) => !result.isError)
  for (const parameter of match?.filled.missing ?? []) {
    const value =
      (reference && pick(parameter, reference, good)) ??
      (parameter.role === 'path' ? knownFile(clause, good) : undefined) ??
      // A guess about what to change is worse than a question.
      (match && changesThings(match.tool.spec.name)
        ? undefined
        : ((reference ? undefined : saidBeside(parameter, others)) ?? fieldOf(parameter, good)))
    if (value === undefined) missing.push(parameter)
    else known.set(parameter, value)
  }
  return { values: new Map([...known].toSorted(([a], [b]) => orderOf(a) - orderOf(b))), missing }
}

function knownFile(clause: Clause, outcomes: readonly Outcome[]): string | undefined {
  const words = clause.tokens.filter(({ kind }) => kind === 'word' || kind === 'identifier').map(({ text }) => text)
  const known = fileNamed(words, outcomes)
  return known ?? (words.some((word) => /^readme$/i.test(word)) && outcomes.length === 0 ? 'README.md' : undefined)
}

const placeNames = stems('location city place country region town timezone address')

/** 'the weather and the time in Rome': one value said for two. */
function saidBeside(parameter: Parameter, others: readonly Ask[]): Json | undefined {
  const key = parameter.path.join('.')
  for (const { match } of others) {
    for (const [other, value] of match?.filled.values ?? []) {
      const isSame = other.path.join('.') === key || (meets(other.name, placeNames) && meets(parameter.name, placeNames))
      if (isSame && other.type === parameter.type) return value
    }
  }
  return undefined
}

function takeSame(open: Outcome[], call: PlannedCall): Outcome | undefined {
  const at = open.findIndex((one) => keyOf(one) === keyOf(call))
  return at < 0 ? undefined : open.splice(at, 1)[0]
}

/** The next outcome of the same tool: a middleware or a person may have edited the arguments. */
function takeEdited(open: Outcome[], call: PlannedCall): Outcome | undefined {
  const at = open.findIndex(({ toolName }) => toolName === call.toolName)
  return at < 0 ? undefined : open.splice(at, 1)[0]
}

function forced(request: string, asks: readonly Ask[], tools: readonly Tool[]): PlannedCall[] {
  const [best] = asks.flatMap(({ clause }) => rank(clause, tools, verbTest(tools))).toSorted((a, b) => b.score - a.score)
  if (!best || best.filled.missing.some(({ type, choices }) => type !== 'string' || choices)) return []
  const values = new Map(best.filled.values)
  for (const parameter of best.filled.missing) values.set(parameter, parameter.list ? [request] : request)
  return [{ toolName: best.tool.spec.name, args: argumentsOf(values) }]
}

/** The same for calls that differ in the order of their keys only. */
function keyOf({ toolName, args }: PlannedCall): string {
  const sorted = (value: JsonObject) => Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  return `${toolName} ${JSON.stringify(args, (_, value: Json) => (isObject(value) ? sorted(value) : value))}`
}
