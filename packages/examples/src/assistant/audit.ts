import { appendFile } from 'node:fs/promises'
import { defineMiddleware, onEvents } from '@koagent/core'
import type { Middleware } from '@koagent/core'

/** Writes what was asked for, done and refused to a file, a JSON object a line. Events come one at a time, so lines do not mix. */
export function audit(file: string): Middleware {
  return defineMiddleware({
    name: 'audit',
    errors: 'log',
    on_event: onEvents(
      ['run_begin', 'tool_call_begin', 'permission_resolved', 'hook_applied', 'hook_error', 'tool_result', 'error', 'run_end'],
      (event, { runtime }) => appendFile(file, `${JSON.stringify({ at: new Date(runtime.now()), ...event })}\n`),
    ),
  })
}
