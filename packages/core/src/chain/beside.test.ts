import { describe, expect, test } from 'vitest'
import { drop, onEvents, retry, stop } from '@koagent/core'
import type { Middleware, Point, ToolResult } from '@koagent/core'
import { hooks, points } from '../hooks.ts'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import { kindOf, layer, stage, valueAt } from '../testing/stage.ts'

const afters = points.filter((point) => kindOf(point) === 'after')

describe('retry, stop and drop travel beside the value', () => {
  const beside = afters.flatMap((point: Point) => hooks[point].decisions.map((kind) => [kind, point] as const))

  test.for(beside)('%s at %s: layers further out get the value unchanged, and see the decision', async ([kind, point]) => {
    for (const mode of modes) {
      for (const inward of [true, false]) {
        let armed = true
        const decision = kind === 'retry' ? retry({ reason: 'again' }) : stop('enough')
        const seen: unknown[][] = []
        const outcome = await execute(
          mode,
          stage([
            layer('outer', point, async (ctx, next) => {
              const before = ctx[hooks[point].write[0]!]
              const value = await next()
              seen.push([before === value, ctx.decision])
            }),
            layer('deciding', point, async (_ctx, next) => {
              if (!armed) return next()
              armed = false
              if (!inward) await next()
              return decision
            }),
          ]),
        )
        expectWhole(outcome)
        expect(seen[0]).toEqual([true, decision])
        const retries = outcome.events.filter((event) => event.type === 'retry')
        expect(retries.map((event) => event.reason)).toEqual(kind === 'retry' ? ['again'] : [])
        expect(outcome.result?.status).toBe(kind === 'stop' ? 'stopped' : 'completed')
      }
    }
  })

  test.for(modes)('stop is stricter than retry, in either place (%s)', async (mode) => {
    for (const point of ['after_llm_step', 'after_tool'] as const) {
      for (const decisions of [
        [stop('enough'), retry()],
        [retry(), stop('enough')],
      ]) {
        const layers = decisions.map((decision, i) => layer(`l${i}`, point, async (_ctx, next) => (await next(), decision)))
        const outcome = await execute(mode, stage(layers))
        expect(outcome.result).toMatchObject({ status: 'stopped', reason: 'enough', turns: 1 })
        expect(outcome.events.some((event) => event.type === 'retry')).toBe(false)
      }
    }
  })

  test.for(modes)('drop: layers further out see that an event is dropped (%s)', async (mode) => {
    const seen: unknown[] = []
    const outcome = await execute(
      mode,
      stage([
        layer('outer', 'on_event', async (ctx, next) => {
          await next()
          if ((ctx.event as { type: string }).type === 'text_delta') seen.push(ctx.decision)
        }),
        { name: 'dropping', on_event: onEvents(['text_delta'], () => drop(), { rewrite: true }) },
      ]),
    )
    expect(seen[0]).toEqual(drop())
    if (mode === 'stream') expect(outcome.events.some((event) => event.type === 'text_delta')).toBe(false)
  })

  test.for(modes)('a translated answer is what an observer further in sees; one further out sees it too (%s)', async (mode) => {
    const seen: string[] = []
    const watch = (name: string): Middleware => ({
      name,
      after_tool: async (ctx, next) => {
        const before = ctx.result
        const after: ToolResult = await next()
        seen.push(`${name}: ${JSON.stringify(before.content)} ${before === after ? 'same' : 'changed'}`)
      },
    })
    const translate = layer('translate', 'after_tool', () => valueAt('after_tool', 'traduit'))
    await execute(mode, stage([watch('outer'), translate, watch('inner')]))
    expect(seen.slice(0, 2)).toEqual([
      'inner: [{"type":"text","text":"traduit"}] same',
      'outer: [{"type":"text","text":"looked at a"}] changed',
    ])
  })
})
