import { describe, expect, test } from 'vitest'
import { Agent, defineTool, deny, memorySession, onEvents } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import { layer, silent } from '../testing/stage.ts'

/** A tool whose every execution counts. */
function charge(): { readonly tool: ReturnType<typeof defineTool>; readonly count: () => number } {
  let count = 0
  const tool = defineTool({
    name: 'charge',
    description: 'Charges a card.',
    input: { type: 'object' },
    execute: () => `charged, receipt ${++count}`,
  })
  return { tool, count: () => count }
}

describe('after a layer has ended a run', () => {
  test.for(modes)('by a limit in before_llm_step, after_run has run whole and the session goes on (%s)', async (mode) => {
    const model = scripted(Array.from({ length: 3 }, () => ({ toolCalls: [{ name: 'charge' }] })))
    const left: string[] = []
    let calls = 0
    const limit: Middleware = {
      name: 'limit',
      before_llm_step: (_ctx, next) => (++calls > 1 ? deny('one call a run') : next()),
      after_run: async (_ctx, next) => {
        left.push('limit')
        calls = 0
        return next()
      },
    }
    const agent = new Agent({ model, tools: [charge().tool], logger: silent }).use(
      layer('outer', 'after_run', (_ctx, next) => (left.push('outer'), next())),
      limit,
      layer('inner', 'after_run', (_ctx, next) => (left.push('inner'), next())),
    )
    const session = memorySession()
    for (const n of [1, 2]) {
      const outcome = await execute(mode, agent, 'go', { session })
      expectWhole(outcome, session.messages)
      expect(outcome.result).toMatchObject({ status: 'denied', reason: 'one call a run' })
      expect(model.calls).toHaveLength(n)
    }
    expect(left).toEqual(['outer', 'limit', 'inner', 'outer', 'limit', 'inner'])
  })

  test.for(modes)('by a failure in after_tool, the call is answered, and is not made again (%s)', async (mode) => {
    const { tool, count } = charge()
    const error = new Error('audit is down')
    let failing = true
    const audit = layer('audit', 'after_tool', (_ctx, next) => {
      if (!failing) return next()
      failing = false
      throw error
    })
    const seen: string[] = []
    const order: Middleware = {
      name: 'order',
      on_event: onEvents(['tool_result', 'error', 'run_end'], (event) => void seen.push(event.type)),
    }
    const model = scripted([{ toolCalls: [{ name: 'charge' }] }, { text: 'it was charged' }])
    const agent = new Agent({ model, tools: [tool], logger: silent }).use(order, audit)
    const session = memorySession()
    const first = await execute(mode, agent, 'charge it', { session })
    expect(first.error).toBe(error)
    expectWhole(first, session.messages)
    expect(session.messages.at(-1)).toMatchObject({ role: 'tool', content: [{ toolName: 'charge', isError: true }] })
    expect(JSON.stringify([session.messages, first.events])).not.toContain('receipt')
    expect(seen).toEqual(['tool_result', 'error', 'run_end'])
    const second = await execute(mode, agent, 'and now?', { session })
    expectWhole(second, session.messages)
    expect([second.result?.text, count()]).toEqual(['it was charged', 1])
  })

  test.for(modes)('by a failure in after_tool, it is the same however many tools may run at a time (%s)', async (mode) => {
    for (const toolConcurrency of [1, 8]) {
      for (const calls of [1, 3]) {
        const errors = Array.from({ length: calls }, (_, i) => new Error(`failure ${i}`))
        const model = scripted([{ toolCalls: errors.map((_, i) => ({ name: 'charge', id: `c${i}` })) }])
        const failing: Middleware = {
          name: 'failing',
          after_tool: async (ctx) => {
            // Later calls fail sooner: the first in call order counts all the same.
            for (let tick = 0; tick < 10 - 3 * Number(ctx.toolCall.callId.slice(1)); tick++) await Promise.resolve()
            throw errors[Number(ctx.toolCall.callId.slice(1))]
          },
        }
        const session = memorySession()
        const agent = new Agent({ model, tools: [charge().tool], toolConcurrency, logger: silent }).use(failing)
        const outcome = await execute(mode, agent, 'go', { session })
        expectWhole(outcome, session.messages)
        expect(outcome.error).toBe(errors[0])
        expect(outcome.events.filter((event) => event.type === 'error')).toHaveLength(1)
      }
    }
  })
})
