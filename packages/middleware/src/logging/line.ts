import type { AgentEvent, ErrorFacts, EventOf, Json } from '@koagent/core'

/** How much a line matters, least first. */
export const levels = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof levels)[number]

/** The types of event that are worth a line. */
export const told = [
  'run_begin',
  'step_end',
  'tool_call_begin',
  'permission_request',
  'tool_result',
  'retry',
  'hook_error',
  'error',
  'run_end',
] as const
export type Told = EventOf<(typeof told)[number]>

/** What an event says in one line, and how much it matters. */
export function lineOf(event: Told, maxChars: number): readonly [level: LogLevel, line: string] {
  const short = (text: string): string => oneLine(text, maxChars)
  switch (event.type) {
    case 'run_begin':
      return ['debug', `run begins: ${short(textOf(event.input.content))}`]
    case 'step_end':
      return stepLine(event)
    case 'tool_call_begin':
      return ['debug', `${event.toolName} ${short(event.rawArgs ?? json(event.args))}`]
    case 'permission_request':
      return ['info', `${event.toolName} needs approval, asks ${event.asker}: ${short(event.reason)}`]
    case 'tool_result':
      return resultLine(event, short)
    case 'retry':
      return ['warn', `${event.toolName ?? 'model'} is tried again (attempt ${event.attempt}): ${short(event.reason)}`]
    case 'hook_error':
      return ['error', `middleware ${event.middleware} failed at ${event.point}: ${short(described(event.error))}`]
    case 'error':
      return ['error', `run failed: ${short(described(event.error))}`]
    case 'run_end':
      return runLine(event, short)
  }
}

function stepLine({ turn, status, finishReason, usage }: EventOf<'step_end'>): readonly [LogLevel, string] {
  if (status !== 'completed') return ['warn', `step ${turn} ${status}`]
  return ['debug', `step ${turn} completed (${finishReason}), ${usage.inputTokens} tokens in, ${usage.outputTokens} out`]
}

const levelOfStatus: Readonly<Record<EventOf<'tool_result'>['status'], LogLevel>> = {
  ok: 'info',
  replaced: 'info',
  error: 'warn',
  invalid: 'warn',
  denied: 'warn',
  blocked: 'warn',
  cancelled: 'warn',
  withheld: 'error',
}

function resultLine(event: EventOf<'tool_result'>, short: (text: string) => string): readonly [LogLevel, string] {
  const { toolName, args, rawArgs, status, by, durationMs, isError, content } = event
  const who = by === undefined ? '' : ` by ${by}`
  const why = isError || status === 'blocked' ? `: ${short(textOf(content))}` : ''
  return [levelOfStatus[status], `${toolName} ${short(rawArgs ?? json(args))} ${status}${who} in ${durationMs} ms${why}`]
}

function runLine(event: EventOf<'run_end'>, short: (text: string) => string): readonly [LogLevel, string] {
  const { status, reason, turns, usage } = event
  const why = reason === undefined ? '' : ` (${short(reason)})`
  const counts = `after ${turns} ${turns === 1 ? 'turn' : 'turns'}, ${usage.inputTokens} tokens in, ${usage.outputTokens} out`
  return [status === 'completed' || status === 'stopped' ? 'info' : 'warn', `run ${status}${why} ${counts}`]
}

function described({ name, message }: ErrorFacts): string {
  return `${name}: ${message}`
}

function textOf(content: readonly { readonly type: string; readonly text?: string }[]): string {
  return content.map((part) => part.text ?? `[${part.type}]`).join(' ')
}

function json(value: Json): string {
  return JSON.stringify(value)
}

/** Control characters, halves of surrogate pairs, and what turns the direction of writing around. */
const unprintable = /[\p{Cc}\p{Cs}\u{202a}-\u{202e}\u{2066}-\u{2069}]/gu

/** Contents come from models, tools and people: they must not be able to start a line of their own or to steer a terminal. */
function oneLine(text: string, maxChars: number): string {
  const line = text.slice(0, maxChars).replaceAll(/\s+/gu, ' ').replaceAll(unprintable, '\u{fffd}').trim()
  return text.length > maxChars ? `${line}…` : line
}

/** Which run speaks: agent names and the run's id, shortened. */
export function speakerOf({ agent, path, runId }: AgentEvent): string {
  return `[${[...path, agent].join('/')} ${runId.slice(0, 8)}]`
}
