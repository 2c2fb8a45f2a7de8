import { ConfigError, defineMiddleware, onEvents } from '@koagent/core'
import type { AgentEvent, Middleware } from '@koagent/core'
import { levels, lineOf, speakerOf, told } from './line.ts'
import type { LogLevel } from './line.ts'

export type { LogLevel }

/** Options of {@link logging}. */
export interface LoggingOptions {
  /** Where lines go; a promise that it returns is waited for. Default: the run's logger. */
  readonly log?: (level: LogLevel, line: string, event: AgentEvent) => unknown
  /** The least level that is written. Default 'info'. */
  readonly level?: LogLevel
  /** Arguments, reasons and messages longer than this many UTF-16 characters are cut. Default 200. */
  readonly maxChars?: number
}

/**
 * Writes what happens in a run, a line each: tool calls and their outcome, denials, errors, LLM steps, retries and the run's end.
 *
 * Contract: observes only and keeps no state; a failing `log` is itself logged and never fails the run. Lines hold what events hold, after every
 * `sanitize`; a result's text is in a line only when it says why a call failed.
 *
 * @example
 * const agent = new Agent({ model, tools }).use(logging({ level: 'debug' }))
 * @throws ConfigError when an option is wrong
 */
export function logging({ log, level = 'info', maxChars = 200 }: LoggingOptions = {}): Middleware {
  const least = levels.indexOf(level)
  if (least < 0) throw new ConfigError(`logging: level is '${level}': use ${levels.map((each) => `'${each}'`).join(', ')}`)
  if (!(maxChars > 0)) throw new ConfigError(`logging: maxChars is ${maxChars}, and must be a number above 0`)

  return defineMiddleware({
    name: 'logging',
    errors: 'log',
    on_event: onEvents(told, async function logging(event, { logger }) {
      const [weight, text] = lineOf(event, maxChars)
      if (levels.indexOf(weight) < least) return
      const line = `${speakerOf(event)} ${text}`
      if (log) await log(weight, line, event)
      else logger[weight](line)
    }),
  })
}
