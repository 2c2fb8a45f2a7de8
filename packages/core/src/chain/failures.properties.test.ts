import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { originOf } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { points } from '../hooks.ts'
import { execute, expectWhole, modes, recorder } from '../testing/kit.ts'
import { layer, silent, stage } from '../testing/stage.ts'

interface Plan {
  readonly at: (typeof points)[number]
  readonly errors: 'raise' | 'log' | 'ignore'
  readonly when: 'at once' | 'before next()' | 'after next()' | 'beside next()' | 'instead of what next() threw'
  /** It fails from the nth pass on. */
  readonly from: number
  readonly value: 'an error' | 'a string' | 'undefined' | 'a frozen error'
}

const plans = fc.record<Plan>({
  at: fc.constantFrom(...points),
  errors: fc.constantFrom('raise', 'log', 'ignore'),
  when: fc.constantFrom('at once', 'before next()', 'after next()', 'beside next()', 'instead of what next() threw'),
  from: fc.nat(2),
  value: fc.constantFrom('an error', 'a string', 'undefined', 'a frozen error'),
})

interface Thrown {
  readonly plan: Plan
  readonly value: unknown
  /** What was inside failed meanwhile, and may be what counts. */
  lost?: boolean
}

const values: Record<Plan['value'], () => unknown> = {
  'an error': () => new Error('thrown'),
  'a string': () => 'thrown',
  undefined: () => undefined,
  'a frozen error': () => Object.freeze(new Error('frozen')),
}

/** A layer that records its passes everywhere, and fails as planned. */
function failing(name: string, plan: Plan, trace: string[], thrown: Thrown[]): Middleware {
  let passes = 0
  const fail = (): never => {
    const value = values[plan.value]()
    thrown.push({ plan, value })
    throw value
  }
  const recording = recorder(name, trace)
  const hook = layer(name, plan.at, (ctx, next) => {
    if (passes++ < plan.from) return next()
    if (plan.when === 'at once') fail()
    trace.push(`>${name}:${ctx.point}`)
    const act = async (): Promise<unknown> => {
      try {
        if (plan.when === 'before next()') await Promise.resolve().then(fail)
        const inner = next()
        if (plan.when === 'beside next()') {
          inner.catch(() => (thrown.findLast(({ plan: own }) => own === plan)!.lost = true))
          fail()
        }
        if (plan.when !== 'instead of what next() threw') return await inner.then(fail)
        return await inner.catch(fail)
      } finally {
        trace.push(`<${name}:${ctx.point}`)
      }
    }
    return act()
  })
  return { ...recording, ...hook, errors: plan.errors }
}

/** Entered layers are left once each, in reverse order. Events go their own way beside all else. */
function expectNested(trace: readonly string[]): void {
  const open: string[] = []
  for (const entry of trace.filter((one) => !one.endsWith(':on_event'))) {
    if (entry.startsWith('>')) open.push(entry.slice(1))
    else expect(open.pop()).toBe(entry.slice(1))
  }
  expect(open).toEqual([])
}

const contained = new Set(['on_permission', 'on_permission_request', 'on_session_end'])

// Whole runs by the hundred: how long they take depends on what else the machine does.
describe('whatever layers fail, wherever, whenever and under whatever policy', { timeout: 60_000 }, () => {
  test.for(modes)('the run is whole, layers unwind in order, and the caller gets what was thrown (%s)', async (mode) => {
    await fc.assert(
      fc.asyncProperty(fc.array(plans, { minLength: 1, maxLength: 4 }), async (list) => {
        const trace: string[] = []
        const thrown: Thrown[] = []
        const logged: unknown[] = []
        const logger = { ...silent, error: (...data: unknown[]) => void logged.push(data) }
        const layers = list.map((plan, i) => failing(`l${i}`, plan, trace, thrown))
        const outcome = await execute(mode, stage([...layers, recorder('last', trace)], { logger }))
        expectWhole(outcome)
        // A layer that settles without waiting for its next() is out before what is inside.
        if (!list.some((plan) => plan.when === 'beside next()')) expectNested(trace)
        const fatal = thrown.filter(({ plan }) => plan.errors === 'raise' && !contained.has(plan.at))
        // What comes after the outcome is told changes nothing any more.
        const inTime = fatal.filter(({ plan, lost }) => !lost && plan.at !== 'on_event')
        if (outcome.error === undefined) expect(inTime).toEqual([])
        else {
          const causes = fatal.map(({ value }) => value)
          expect(outcome.error).toBeInstanceOf(Error)
          expect(causes).toContain(causes.includes(outcome.error) ? outcome.error : (outcome.error as Error).cause)
          expect(originOf(outcome.error)?.middleware).toMatch(/^l\d$/)
          if (fatal.length === 1 && fatal[0]?.value instanceof Error) expect(outcome.error).toBe(fatal[0].value)
        }
        expect(outcome.events.filter((event) => event.type === 'error')).toHaveLength(outcome.error === undefined ? 0 : 1)
      }),
      { numRuns: 60 },
    )
  })

  test('the two modes fail alike', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(plans, { minLength: 1, maxLength: 3 }), async (list) => {
        const [a, b] = await Promise.all(
          modes.map(async (mode) => {
            const trace: string[] = []
            const { error, result, events } = await execute(mode, stage(list.map((plan, i) => failing(`l${i}`, plan, trace, []))))
            const types = events.map((event) => event.type).filter((type) => type !== 'hook_error')
            const others = trace.filter((entry) => !entry.endsWith(':on_event'))
            return { others, status: result?.status, error: String(error), types }
          }),
        )
        expect(a).toEqual(b)
      }),
      { numRuns: 30 },
    )
  })
})
