import { textOf } from '@koagent/core'
import type { JsonObject, ToolSpec } from '@koagent/core'
import type { Outcome } from './plan/earlier.ts'
import type { PlannedCall, Unmet } from './plan/plan.ts'

const maxQuoted = 280
const maxTools = 12

/** What is about to be called. */
export function announcement(calls: readonly PlannedCall[]): string {
  return `Calling ${listOf(calls.map(({ toolName, args }) => titleOf(toolName, args)))}.`
}

/** What would have been called. */
export function refusal(calls: readonly PlannedCall[]): string {
  return `I may call no tool now. I would call ${listOf(calls.map(({ toolName, args }) => titleOf(toolName, args)))}.`
}

/** The last words of a run: what every call gave, what was denied and why, what could not be done. */
export function summary(outcomes: readonly Outcome[], unmet: readonly Unmet[], tools: readonly ToolSpec[]): string {
  if (outcomes.length === 0 && unmet.length === 0) return offer(tools)
  return [
    ...outcomes.map(told),
    ...unmet.map(untold),
    ...(unmet.some(({ toolName, quoted }) => !toolName && !quoted) ? [offer(tools)] : []),
  ].join('\n')
}

/** Was the call refused, by a rule, a hook or a person? */
function isDenied(text: string): boolean {
  return /^\W*(?:permission denied|blocked|denied|rejected|declined|refused|not (?:allowed|permitted))\b/i.test(text)
}

function told({ toolName, args, result }: Outcome): string {
  const title = titleOf(toolName, args)
  const text = textOf(result).trim()
  if (result.isError && isDenied(text)) return `${title} was not carried out: ${capped(text)}`
  if (result.isError) return `${title} failed: ${capped(text) || 'no reason was given'}`
  if (text === '') return `${title} gave no text.`
  const lines = text.split('\n').length
  return `${title} gave${lines > 1 ? ` ${lines} lines` : ''}: "${capped(text)}"`
}

function untold({ text, toolName, missing, quoted, after }: Unmet): string {
  if (quoted) return `"${capped(text)}": I quote results, and leave reading them to you.`
  if (!toolName) return `No tool that I have fits "${capped(text)}".`
  const names = listOf(missing.map(({ path }) => path.join('.')))
  if (after) return `I left out "${capped(text)}": it needs the result of ${after}, which there is none of.`
  return `For "${capped(text)}" I would call ${toolName}, but the words do not say: ${names}.`
}

function offer(tools: readonly ToolSpec[]): string {
  const shown = tools
    .slice(0, maxTools)
    .map(({ name, description }) => `${name}${description ? ` (${capped(description.split(/[.\n]/)[0] ?? '', 60)})` : ''}`)
  const more = tools.length > maxTools ? ` and ${tools.length - maxTools} more` : ''
  const have = tools.length > 0 ? `I have ${shown.join(', ')}${more}.` : 'I was given no tools.'
  return `I am a planner of rules, not a language model: I match your words to tools. ${have}`
}

function titleOf(toolName: string, args: JsonObject): string {
  const values = Object.values(args).map((value) => capped(typeof value === 'string' ? value : JSON.stringify(value), 60))
  return values.length > 0 ? `${toolName} (${values.join(', ')})` : toolName
}

function listOf(items: readonly string[]): string {
  return items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
}

function capped(text: string, max = maxQuoted): string {
  const flat = text.trim()
  return flat.length <= max ? flat : `${flat.slice(0, max).trimEnd()} …`
}
