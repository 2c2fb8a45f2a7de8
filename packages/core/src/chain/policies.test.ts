import { describe, expect, test } from 'vitest'
import { allow, replace_result } from '@koagent/core'
import type { Ctx, Middleware, Point } from '@koagent/core'
import { hooks, points } from '../hooks.ts'
import { execute, expectWhole, modes, recorder } from '../testing/kit.ts'
import { comparable, kindOf, layer, silent, stage, valueAt } from '../testing/stage.ts'
import type { AnyHook } from '../testing/stage.ts'

const policies = ['log', 'ignore'] as const
const cases = points.flatMap((point) => modes.map((mode) => [point, mode] as const))
const lenient = cases.filter(([point]) => !point.startsWith('on_permission'))

const error = new Error('of the layer')
/** Ways to fail: all are the layer's own, whether thrown or a broken rule. */
const failures: Record<string, AnyHook> = {
  'throws at once': () => {
    throw error
  },
  'throws undefined': async () => {
    throw undefined
  },
  'throws after next()': async (_ctx, next) => {
    await next()
    throw error
  },
  'throws while next() is pending': (_ctx, next) => {
    void next()
    throw error
  },
  'forgets next()': () => {},
  'returns garbage': () => ({}),
  'returns garbage after next()': async (_ctx, next) => (await next(), 'garbage'),
  'calls next() twice': async (_ctx, next) => (await next(), next()),
}

describe.for(Object.keys(failures))("a layer under 'log' or 'ignore' that %s", (name) => {
  test.for(lenient)('counts as absent at %s, and hook_error tells of it (%s)', async ([point, mode]) => {
    const expected: string[] = []
    const absent = await execute(mode, stage([recorder('in', expected)]))
    for (const errors of policies) {
      let entered = 0
      const logged: unknown[] = []
      const hook: AnyHook = (ctx, next) => (entered++, failures[name]!(ctx, next))
      const trace: string[] = []
      const logger = { ...silent, error: (...data: unknown[]) => void logged.push(data) }
      const outcome = await execute(mode, stage([layer('culprit', point, hook, { errors }), recorder('in', trace)], { logger }))
      expectWhole(outcome)
      expect(comparable(outcome, ['hook_error'])).toEqual(comparable(absent))
      expect(trace).toEqual(expected)
      const told = outcome.events.filter((event) => event.type === 'hook_error')
      // A tool's failure that comes out of next() is not the layer's own; no event follows run_end.
      const own = entered - (point === 'around_tool' && /after next|twice/.test(name) ? 1 : 0)
      if (point === 'on_event' && mode === 'stream') expect(told).toHaveLength(own - 1)
      else if (point !== 'on_session_end' && point !== 'on_event') expect(told).toHaveLength(own)
      for (const event of told) expect(event).toMatchObject({ middleware: 'culprit', point })
      expect(own).toBeGreaterThan(0)
      expect(logged).toHaveLength(errors === 'log' ? own : 0)
    }
  })
})

describe('a layer that fails where the point fails closed', () => {
  const closed = cases.filter(([point]) => point.startsWith('on_permission'))
  const kinds = Object.keys(failures).flatMap((name) => closed.map(([point, mode]) => [name, point, mode] as const))

  test.for(kinds)('and %s denies at %s, whatever its policy; layers outside see the deny (%s)', async ([name, point, mode]) => {
    for (const errors of ['raise', ...policies] as const) {
      const seen: unknown[] = []
      const outer = layer('outer', point, async (ctx, next) => {
        const decision = await next()
        seen.push([decision, ctx.decision])
      })
      const outcome = await execute(mode, stage([outer, layer('culprit', point, failures[name]!, { errors })]))
      expectWhole(outcome)
      expect(outcome.result?.status).toBe('completed')
      const deny = expect.objectContaining({ kind: 'deny', reason: expect.stringContaining("'culprit'") })
      expect(seen[0]).toEqual([deny, deny])
      expect(outcome.events).toContainEqual(
        expect.objectContaining({ type: 'tool_result', callId: 'call_1', status: 'denied', by: 'culprit' }),
      )
    }
  })
})

/** A value for each field that may be assigned. */
function otherwise(point: Point, field: string, ctx: Record<string, unknown>): unknown {
  if (field === 'maxTurns') return 1
  if (field === 'signal') return new AbortController().signal
  if (field === 'args') return { path: 'elsewhere' }
  if (field === 'message') return { role: 'user', content: [{ type: 'text', text: 'rewritten' }] }
  if (field === 'request') return { ...(ctx.request as object), system: 'rewritten' }
  if (field === 'event') return { ...(ctx.event as object), rewritten: true }
  return valueAt(point)
}

const writable = points
  .filter((point) => point !== 'on_event' && point !== 'on_permission_request')
  .flatMap((point) => hooks[point].write.map((field) => [point, field] as const))

describe("what a layer under 'log' or 'ignore' had changed before it failed", () => {
  test.for(writable)('%s: ctx.%s is put back', async ([point, field]) => {
    for (const mode of modes) {
      for (const errors of policies) {
        const plain: unknown[] = []
        const seen: unknown[] = []
        const watch = (into: unknown[]): Middleware =>
          layer('watch', point, (ctx, next) => (into.push(ctx[field] instanceof AbortSignal ? 'signal' : ctx[field]), next()))
        const rewriting = layer(
          'culprit',
          point,
          async (ctx) => {
            Object.assign(ctx, { [field]: otherwise(point, field, ctx) })
            throw error
          },
          { errors },
        )
        const expected = await execute(mode, stage([watch(plain)]))
        const outcome = await execute(mode, stage([rewriting, watch(seen)]))
        expect(comparable(outcome, ['hook_error'])).toEqual(comparable(expected))
        expect(JSON.stringify(seen).replaceAll(/call_\d|"runId":"[^"]*"/g, '')).toBe(
          JSON.stringify(plain).replaceAll(/call_\d|"runId":"[^"]*"/g, ''),
        )
      }
    }
  })

  test.for(points.filter((point) => kindOf(point) === 'after'))(
    '%s: a value assigned after next() is put back',
    async (point) => {
      for (const mode of modes) {
        const expected = await execute(mode, stage())
        const assigning = layer(
          'culprit',
          point,
          async (ctx, next) => {
            await next()
            for (const field of hooks[point].write) Object.assign(ctx, { [field]: otherwise(point, field, ctx) })
            throw error
          },
          { errors: 'log' },
        )
        const outcome = await execute(mode, stage([assigning]))
        expect(comparable(outcome, ['hook_error'])).toEqual(comparable(expected))
      }
    },
  )

  const noting = ['on_session_start', 'before_llm_step', 'before_tool', 'after_tool'] as const

  test.for(noting)('%s: its notes are taken out, before or after next(), and those of others stay', async (point) => {
    for (const mode of modes) {
      for (const after of [false, true]) {
        const note = (name: string, fails: boolean): Middleware =>
          layer(
            name,
            point,
            async (ctx, next) => {
              const { addContext } = ctx as unknown as Ctx<'before_tool'>
              if (after) await next()
              addContext.call(ctx, `note of ${name}`)
              if (fails) throw error
              return after ? undefined : next()
            },
            { errors: 'log' },
          )
        const requests: string[] = []
        const listening: Middleware = {
          name: 'listening',
          around_llm_step: (ctx, next) => (requests.push(JSON.stringify(ctx.request.messages)), next()),
        }
        const outcome = await execute(mode, stage([note('a', false), note('culprit', true), note('b', false), listening]))
        expectWhole(outcome)
        expect(requests.join()).toContain('note of a\\nnote of b')
        expect(requests.join()).not.toContain('culprit')
      }
    }
  })

  test.for(modes)('its transform is taken out (%s)', async (mode) => {
    const transforming: Middleware = {
      name: 'culprit',
      errors: 'log',
      around_llm_step(ctx) {
        ctx.transform(async function* shout(parts) {
          for await (const part of parts) yield part.type === 'text_delta' ? { ...part, text: part.text.toUpperCase() } : part
        })
        throw error
      },
    }
    expect((await execute(mode, stage([transforming]))).result?.text).toBe('all done')
  })

  test.for(modes)('a decision that is refused takes nothing along (%s)', async (mode) => {
    const refused = layer('culprit', 'before_tool', () => allow({ args: 'no object' as never, context: 'note' }), {
      errors: 'log',
    })
    const late = layer(
      'late',
      'before_tool',
      async (_ctx, next) => (await next(), allow({ args: { path: 'late' }, context: 'note' })),
      { errors: 'log' },
    )
    const kept = layer('kept', 'before_tool', (ctx, next) => (ctx.toolName === 'look' ? replace_result('kept') : next()))
    const outcome = await execute(mode, stage([refused, late, kept]))
    expect(outcome.events.filter((event) => event.type === 'hook_error')).toHaveLength(4)
    expect(outcome.events.find((event) => event.type === 'tool_result')).toMatchObject({
      args: { path: 'a' },
      content: [{ type: 'text', text: 'kept' }],
    })
    expect(JSON.stringify(outcome.events)).not.toContain('note')
  })
})
