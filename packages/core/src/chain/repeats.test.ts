import { describe, expect, test } from 'vitest'
import { allow, replace_result, stop } from '@koagent/core'
import type { Decision, Point } from '@koagent/core'
import { hooks, points } from '../hooks.ts'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import { kindOf, layer, stage, valueAt } from '../testing/stage.ts'

const cases = points.flatMap((point) => modes.map((mode) => [point, mode] as const))

/** A decision with which the stage's run goes on to its end. */
function mild(point: Point): Decision {
  const decisions: readonly string[] = hooks[point].decisions
  if (decisions.includes('allow')) return allow()
  return decisions.includes('stop') ? stop('fine') : replace_result('x')
}

describe('nothing returned after next()', () => {
  test.for(cases)('repeats at %s what next() gave (%s)', async ([point, mode]) => {
    const given: unknown[] = []
    const repeated: unknown[] = []
    const value = kindOf(point) === 'after' || kindOf(point) === 'around' ? valueAt(point) : undefined
    const outcome = await execute(
      mode,
      stage([
        layer('outer', point, async (_ctx, next) => void repeated.push(await next())),
        layer('silent', point, async (_ctx, next) => void given.push(await next())),
        layer('inner', point, async (_ctx, next) => (await next(), value)),
      ]),
    )
    expectWhole(outcome)
    expect(repeated.length).toBeGreaterThan(0)
    expect(repeated).toHaveLength(given.length)
    for (const [i, one] of repeated.entries()) expect(one).toBe(given[i])
  })

  const raising = cases.filter(([point]) => kindOf(point) !== 'observer' && !point.startsWith('on_permission'))

  test.for(raising)('repeats at %s a rejection too (%s)', async ([point, mode]) => {
    const error = new Error('inside')
    const outcome = await execute(
      mode,
      stage([
        layer('silent', point, async (_ctx, next) => void (await next().catch(() => {}))),
        layer('inner', point, () => {
          throw error
        }),
      ]),
    )
    expect(outcome.error).toBe(error)
    expect(outcome.events.filter((event) => event.type === 'hook_error')).toHaveLength(
      outcome.events.filter((event) => event.type === 'hook_error' && event.middleware === 'inner').length,
    )
  })

  test.for(raising)('and a value returned at %s takes the place of a rejection (%s)', async ([point, mode]) => {
    const instead = kindOf(point) === 'gate' ? mild(point) : valueAt(point)
    const outcome = await execute(
      mode,
      stage([
        layer('healing', point, async (_ctx, next) => {
          try {
            return await next()
          } catch {
            return instead
          }
        }),
        layer('inner', point, () => {
          throw new Error('inside')
        }),
      ]),
    )
    expect(outcome.error).toBeUndefined()
    expectWhole(outcome)
  })
})
