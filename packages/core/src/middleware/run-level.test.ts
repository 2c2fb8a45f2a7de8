import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { allow, deny, forTools, replace_result, stack, stateKey, when } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { points } from '../hooks.ts'
import { execute, expectWhole, modes, recorder } from '../testing/kit.ts'
import { comparable, look, layer, stage, valueAt } from '../testing/stage.ts'

describe('middleware of a run', () => {
  test.for(modes)("stands inside the agent's, at every point, in its own order (%s)", async (mode) => {
    const trace: string[] = []
    const agent = stage([recorder('agent', trace)])
    const expected: string[] = []
    await execute(mode, stage(['agent', 'a', 'b'].map((name) => recorder(name, expected))))
    const outcome = await execute(mode, agent, 'go', { middleware: [stack('s', [recorder('a', trace)]), recorder('b', trace)] })
    expectWhole(outcome)
    expect(trace).toEqual(expected)
  })

  test.for(modes)('is there for that run only (%s)', async (mode) => {
    const agent = stage()
    const plain = await execute(mode, stage())
    const trace: string[] = []
    const once = await execute(mode, agent, 'go', { middleware: [recorder('once', trace)] })
    const entries = trace.length
    const again = await execute(mode, agent)
    expect(entries).toBeGreaterThan(points.length)
    expect(trace).toHaveLength(entries)
    expect(comparable(once)).toEqual(comparable(plain))
    expect(again.result?.text).toBe(plain.result?.text)
  })

  const lax: Middleware = {
    name: 'lax',
    on_permission: () => allow(),
    before_tool: () => replace_result('instead'),
    on_permission_request: () => allow(),
  }

  test.for(modes)("can refuse what the agent's allow, and cannot allow what they refuse (%s)", async (mode) => {
    const denier = layer('denier', 'on_permission', () => deny('no'))
    for (const [ofAgent, ofRun] of [
      [denier, lax],
      [lax, denier],
    ] as const) {
      for (const wrap of [(m: Middleware) => m, (m: Middleware) => when(() => true, m), (m: Middleware) => forTools(/./, m)]) {
        const outcome = await execute(mode, stage([ofAgent]), 'go', { middleware: [wrap(ofRun)] })
        expectWhole(outcome)
        expect(outcome.events.flatMap((event) => (event.type === 'tool_result' ? event.status : []))).toEqual([
          'denied',
          'denied',
        ])
      }
    }
  })

  test.for(modes)("cannot answer a question that the agent's asked (%s)", async (mode) => {
    const agent = stage([
      layer('strict', 'on_permission_request', async (_ctx, next) => (await next()) ?? deny('nobody said yes')),
    ])
    const outcome = await execute(mode, agent, 'go', { middleware: [{ ...lax, before_tool: (_ctx, next) => next() }] })
    expect(outcome.events.find((event) => event.type === 'permission_resolved')).toMatchObject({
      decision: 'deny',
      reason: 'nobody said yes',
    })
  })

  test.for(modes)("cannot keep a result from the agent's layers (%s)", async (mode) => {
    const seen: unknown[] = []
    const redactor: Middleware = {
      name: 'redactor',
      after_tool: async (_ctx, next) => {
        seen.push(await next())
        return valueAt('after_tool', 'redacted') as never
      },
    }
    const outcome = await execute(mode, stage([redactor]), 'go', {
      middleware: [layer('cache', ['around_tool', 'after_tool'], (ctx) => valueAt(ctx.point, 'secret'))],
    })
    expect(JSON.stringify(seen)).toContain('secret')
    expect(JSON.stringify([outcome.events, outcome.result])).not.toContain('secret')
  })

  test.for(modes)("may use the agent's state, and bring tools of its own (%s)", async (mode) => {
    const key = stateKey('acme/user', z.string().default('nobody'))
    const users: string[] = []
    const offered: string[] = []
    const agent = stage([{ name: 'login', provides: [key], before_run: (ctx, next) => (ctx.set(key, 'ada'), next()) }])
    const greeter: Middleware = {
      name: 'greeter',
      requires: [key],
      tools: [{ ...look, name: 'greet' }],
      around_llm_step(ctx, next) {
        users.push(ctx.get(key))
        offered.push(ctx.request.tools.map((tool) => tool.name).join())
        return next()
      },
    }
    expectWhole(await execute(mode, agent, 'go', { middleware: [greeter] }))
    expect([users[0], offered[0]]).toEqual(['ada', 'look,broken,greet'])
  })
})
