import { textOf } from '@koagent/core'
import type { AgentEvent, EventOf, EventType } from '@koagent/core'
import { differences } from './differences.ts'
import { InOrder } from './in-order.ts'
import { fold, painter, plural, printable, shorten, side } from './text.ts'

/** How the terminal is. */
export interface RenderOptions {
  /** Columns. Lines are cut there, those of the model's own text excepted. */
  readonly width: number
  readonly colours: boolean
}

/** The events that are shown. Where text is not streamed, it comes whole with the end of its step. */
export const shown = [
  'run_begin',
  'turn_begin',
  'step_end',
  'tool_call_begin',
  'permission_request',
  'tool_result',
  'hook_applied',
  'hook_error',
  'retry',
  'error',
  'run_end',
] as const satisfies readonly EventType[]

const maxPreview = 4
const maxChanges = 4

const verbs: Readonly<Record<string, string>> = {
  allow: 'allows',
  ask: 'asks',
  continue_run: 'keeps the run going',
  deny: 'denies',
  replace_result: 'answers in its place',
  retry: 'tries again',
  stop: 'stops the run',
}

/**
 * Turns the events of a run into what a person reads: each call with its outcome and with the layers that changed or refused it, and the model's
 * text as it comes.
 *
 * Contract: it is called with every event, in order; the texts that it returns, joined, are the screen. Nothing but these events decides them.
 */
export function renderer({ width, colours }: RenderOptions): (event: AgentEvent) => string {
  const paint = painter(colours)
  const calls = new InOrder()
  const explained = new Set<string>()
  const counts = new Map<string, number>()
  let isTextOpen = false
  let wasStreamed = false

  const cut = (text: string, indent: number): string => shorten(fold(text), Math.max(20, width - indent))
  const fact = (mark: string, who: string, what: string): string => `  ${mark} ${paint.bold(who)} ${cut(what, who.length + 5)}\n`

  const prose = (text: string): string => {
    const start = isTextOpen ? '' : '\n  '
    isTextOpen = true
    return start + printable(text).replaceAll('\n', '\n  ')
  }

  const endProse = (): string => {
    const end = isTextOpen ? '\n' : ''
    isTextOpen = false
    return end
  }

  const call = ({ toolName, args, rawArgs }: EventOf<'tool_call_begin'>): string => {
    const values = Object.values(args).map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    return `\n  ${paint.cyan(toolName)} ${cut(rawArgs ?? values.join(' '), toolName.length + 3)}\n`
  }

  const applied = ({ middleware, point, callId, changes, decision, reason }: EventOf<'hook_applied'>): string => {
    const where = callId === undefined ? ` at ${point}` : ''
    const all = changes.flatMap(differences)
    const lines = all.slice(0, maxChanges).map(({ label, before, after }) => {
      const room = Math.max(12, Math.floor((width - middleware.length - label.length - 20) / 2))
      const [from, to] = side(fold(before), fold(after), room)
      return `  ${paint.yellow('~')} ${paint.bold(middleware)}${where} changes ${label}: ${paint.dim(from)} → ${to}\n`
    })
    if (all.length > maxChanges) lines.push(fact(paint.yellow('~'), middleware, `and ${all.length - maxChanges} more`))
    if (decision !== undefined) {
      if (callId !== undefined && reason !== undefined) explained.add(callId)
      const mark = decision === 'deny' || decision === 'stop' ? paint.red('✗') : paint.yellow('~')
      lines.push(
        fact(mark, `${middleware}${where}`, `${verbs[decision] ?? decision}${reason === undefined ? '' : `: ${reason}`}`),
      )
    }
    return lines.join('')
  }

  const outcome = ({ callId, status, isError, content, durationMs }: EventOf<'tool_result'>): string => {
    counts.set(status, (counts.get(status) ?? 0) + 1)
    const text = printable(textOf({ content: content.filter((part) => part.type !== 'text' || !part.added) })).trimEnd()
    const lines = text === '' ? [] : text.split('\n')
    const what = status === 'ok' ? (lines.length > 0 ? plural(lines.length, 'line') : 'done') : status
    const head = `  ${isError ? paint.red('✗') : paint.green('✓')} ${what}${paint.dim(` · ${durationMs} ms`)}\n`
    // The layer that refused the call has said why.
    if ((status === 'denied' || status === 'blocked') && explained.has(callId)) return head
    const preview = lines.slice(0, maxPreview).map((line) => (line.trim() === '' ? '\n' : `      ${paint.dim(cut(line, 6))}\n`))
    return [head, ...preview, ...(lines.length > maxPreview ? [`      ${paint.dim('…')}\n`] : [])].join('')
  }

  const summary = ({ status, reason, turns, usage }: EventOf<'run_end'>): string => {
    const total = [...counts.values()].reduce((sum, count) => sum + count, 0)
    const facts = [
      `${status}${reason === undefined ? '' : ` (${fold(reason)})`}`,
      plural(turns, 'turn'),
      `${plural(total, 'call')}${total > 0 ? ': ' : ''}${[...counts].map(([kind, count]) => `${count} ${kind}`).join(', ')}`,
      plural(usage.inputTokens + usage.outputTokens, 'token'),
    ]
    return `\n${paint.dim(facts.join(' · '))}\n`
  }

  const told = (event: EventOf<(typeof shown)[number]>): string => {
    switch (event.type) {
      case 'run_begin':
        return `\n${paint.bold(`› ${printable(textOf(event.input))}`)}\n`
      case 'turn_begin':
        return `\n${paint.dim(`turn ${event.turn + 1}`)}\n`
      case 'step_end': {
        const text = event.message && !wasStreamed ? textOf(event.message) : ''
        wasStreamed = false
        return text === '' ? '' : prose(text) + endProse()
      }
      case 'tool_call_begin':
        calls.begin(event.callId)
        return calls.tell(event.callId, call(event))
      case 'permission_request':
        return calls.tell(event.callId, fact(paint.yellow('?'), event.asker, `asks a person: ${event.reason}`))
      case 'hook_applied':
        return calls.tell(event.callId, applied(event))
      case 'hook_error':
        return calls.tell(
          event.callId,
          fact(paint.red('!'), event.middleware, `failed at ${event.point}: ${event.error.message}`),
        )
      case 'retry':
        return calls.tell(event.callId, fact(paint.yellow('↻'), `attempt ${event.attempt}`, event.reason))
      case 'tool_result':
        return calls.tell(event.callId, outcome(event)) + calls.end(event.callId)
      case 'error':
        return `\n${paint.red('✗')} ${cut(`${event.error.name}: ${event.error.message}`, 2)}\n`
      case 'run_end':
        return summary(event)
    }
  }

  return (event) => {
    if (event.type === 'text_delta') {
      wasStreamed = true
      return prose(event.text)
    }
    if (event.type === 'step_reset') {
      wasStreamed = false
      return endProse() + fact(paint.yellow('↻'), 'again', `the text above is void: ${event.reason}`)
    }
    return isShown(event) ? endProse() + told(event) : ''
  }
}

function isShown(event: AgentEvent): event is EventOf<(typeof shown)[number]> {
  return (shown as readonly EventType[]).includes(event.type)
}
