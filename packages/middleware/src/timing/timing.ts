import { defineMiddleware, onEvents } from '@koagent/core'
import type { Middleware, ToolCallBegin, ToolStatus } from '@koagent/core'

/** Options of {@link timing}. */
export interface TimingOptions {
  /** Called once for each finished tool call; a promise that it returns is waited for. Default: a line at level info in the run's logger. */
  readonly report?: (timing: ToolTiming) => unknown
}

/** How long one tool call took, from its announcement to its result. */
export interface ToolTiming {
  readonly runId: string
  readonly callId: string
  readonly toolName: string
  readonly status: ToolStatus
  /** Wall time in milliseconds, waiting for gates, approvals and a free slot included. */
  readonly durationMs: number
}

type Timer = ToolCallBegin & { readonly at: number }

/**
 * Times every tool call, also those that were denied, blocked or cut off.
 *
 * Contract: observes only; a failing `report` is logged and never fails the run. `openTimers` counts the calls that are under way in all runs
 * of this instance, and is 0 once they have ended, however they ended.
 *
 * @example
 * const clock = timing({ report: ({ toolName, durationMs }) => console.log(toolName, durationMs) })
 * await new Agent({ model, tools }).use(clock).run('list the files')
 */
export function timing({ report }: TimingOptions = {}): Middleware & { readonly openTimers: number } {
  // Parallel calls interleave, and call ids are unique within one session only: timers are kept by run and by call.
  const runs = new Map<string, Map<string, Timer>>()

  const middleware = defineMiddleware({
    name: 'timing',
    errors: 'log',
    on_event: onEvents(['tool_call_begin', 'tool_result', 'run_end'], async function timing(event, { runtime, logger }) {
      if (event.type === 'run_end') {
        // Calls whose result a failing layer further out kept from this one.
        runs.delete(event.runId)
        return
      }
      const { runId, callId, toolName } = event
      if (event.type === 'tool_call_begin') {
        const timers = runs.get(runId) ?? new Map<string, Timer>()
        runs.set(runId, timers.set(callId, { ...event, at: runtime.now() }))
        return
      }
      const timer = runs.get(runId)?.get(callId)
      if (!timer) return
      runs.get(runId)?.delete(callId)
      const { status } = event
      const durationMs = runtime.now() - timer.at
      if (report) await report({ runId, callId, toolName, status, durationMs })
      else logger.info(`${toolName} ${status} in ${durationMs} ms`)
    }),
  })
  return {
    ...middleware,
    get openTimers() {
      let open = 0
      for (const timers of runs.values()) open += timers.size
      return open
    },
  }
}
