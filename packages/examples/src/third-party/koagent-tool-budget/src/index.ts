import { defineMiddleware, deny, stateKey } from '@koagent/core'
import type { Middleware, StateKey } from '@koagent/core'
import { z } from 'zod'

/** How many tool calls this run has made. */
export const callCount: StateKey<number> = stateKey('acme/tool-budget/calls', z.number().default(0))

export interface ToolBudgetOptions {
  /** How many tool calls a run may make. */
  readonly calls: number
}

/**
 * Blocks the tool calls of a run beyond a number.
 *
 * Contract: a call that a layer further out has refused does not count.
 */
export function toolBudget({ calls }: ToolBudgetOptions): Middleware {
  return defineMiddleware({
    name: '@acme/tool-budget',
    provides: [callCount],
    before_tool(ctx, next) {
      const count = ctx.update(callCount, (before) => before + 1)
      return count > calls ? deny(`this run may make ${calls} tool calls, and it has`) : next()
    },
  })
}
