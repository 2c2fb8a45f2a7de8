import { describe, expect, test } from 'vitest'
import { KoagentError, originOf } from '@koagent/core'
import type { Middleware, Point } from '@koagent/core'
import { points } from '../hooks.ts'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import { fail, kindOf, layer, stage } from '../testing/stage.ts'
import type { AnyHook } from '../testing/stage.ts'

const everywhere = points.flatMap((point) => modes.map((mode) => [point, mode] as const))
/** Where a failure reaches the caller of the run. */
const raising = everywhere.filter(([point]) => !['on_permission', 'on_permission_request', 'on_session_end'].includes(point))

class QuotaError extends Error {}
const nonErrors = ['oops', 42, { code: 1 }, null, undefined]
const frozen = Object.freeze(new QuotaError('frozen'))

/** When a layer throws. */
const moments: Record<string, (error: unknown) => AnyHook> = {
  'at once': (error) => () => {
    throw error
  },
  'before next()': (error) => async () => {
    await Promise.resolve()
    throw error
  },
  'after next()': (error) => async (_ctx, next) => {
    await next()
    throw error
  },
}

describe('what a layer throws', () => {
  test.for(Object.keys(moments).flatMap((moment) => raising.map(([point, mode]) => [moment, point, mode] as const)))(
    '%s at %s is what the caller catches, and where it came from is kept beside it (%s)',
    async ([moment, point, mode]) => {
      const error = new QuotaError('no more')
      const { failure } = await fail(mode, point, [layer('culprit', point, moments[moment]!(error))], 'culprit')
      expect(failure).toBe(error)
      expect(originOf(error)).toMatchObject({ middleware: 'culprit', point })
      expect(Object.keys(error)).toEqual([])
    },
  )

  test.for(raising)('at %s may be frozen (%s)', async ([point, mode]) => {
    const { failure } = await fail(mode, point, [layer('culprit', point, moments['after next()']!(frozen))], 'culprit')
    expect(failure).toBe(frozen)
    expect(originOf(frozen)).toMatchObject({ middleware: 'culprit', point })
  })

  test.for(modes)('of a tool call names the call (%s)', async (mode) => {
    for (const point of ['before_tool', 'around_tool', 'after_tool'] as const) {
      const error = new Error(point)
      await fail(mode, point, [layer('culprit', point, moments['before next()']!(error))], 'culprit')
      expect(originOf(error)).toEqual({ middleware: 'culprit', point, callId: 'call_1', toolName: 'look' })
    }
  })

  test.for(everywhere)('at %s, and is no Error, comes wrapped, with what was thrown as its cause (%s)', async ([point, mode]) => {
    for (const [moment, thrown] of [
      ...nonErrors.map((value) => ['at once', value] as const),
      ['after next()', undefined] as const,
    ]) {
      const { failure } = await fail(mode, point, [layer('culprit', point, moments[moment]!(thrown))], 'culprit')
      if (point.startsWith('on_permission')) expect(failure).toMatchObject({ code: 'thrown_value' })
      else {
        expect(failure).toBeInstanceOf(KoagentError)
        expect((failure as Error).cause).toBe(thrown)
      }
      expect((failure as Error).message).toContain(`'culprit' at ${point}`)
    }
  })

  test.for(raising.filter(([point]) => kindOf(point) !== 'observer'))(
    'at %s crosses the layers around it untouched, each after phase runs once (%s)',
    async ([point, mode]) => {
      const error = new Error('deep inside')
      const log: string[] = []
      const around = (name: string): Middleware =>
        layer(name, point, async (_ctx, next) => {
          log.push(`${name}:in`)
          try {
            return await next()
          } catch (caught) {
            log.push(`${name}:${caught === error ? 'same' : 'another'}`)
            throw caught
          } finally {
            log.push(`${name}:out`)
          }
        })
      await fail(mode, point, [around('a'), around('b'), layer('culprit', point, moments['before next()']!(error))], 'culprit')
      const once = ['a:in', 'b:in', 'b:same', 'b:out', 'a:same', 'a:out']
      expect(log.slice(-once.length)).toEqual(once)
    },
  )

  test.for(raising)('at %s is told once: one hook_error, one error event (%s)', async ([point, mode]) => {
    const pass: AnyHook = async (_ctx, next) => next()
    const outer = layer('outer', point, pass, { errors: 'log' })
    const { events, told } = await fail(
      mode,
      point,
      [outer, layer('culprit', point, moments['after next()']!(new Error('no')))],
      'culprit',
    )
    if (mode === 'run' && point === 'on_event') return
    // An after_run, after_turn or on_event layer fails each time that it is entered.
    expect(told.every((event) => event.middleware === 'culprit')).toBe(true)
    if (!['after_turn', 'on_event'].includes(point)) expect(told).toHaveLength(1)
    expect(events.filter((event) => event.type === 'error')).toHaveLength(1)
  })
})

describe('on_error', () => {
  const asked = raising.filter(([point]) => point !== 'on_error')

  test.for(asked)('is asked once about what is thrown at %s, always an Error (%s)', async ([point, mode]) => {
    for (const value of ['oops', undefined, frozen]) {
      const errors: Error[] = []
      let armed = true
      const listener: Middleware = {
        name: 'listener',
        on_error(ctx, next) {
          if (ctx.phase !== 'tool') errors.push(ctx.error)
          return next()
        },
      }
      const once = layer('culprit', point, (_ctx, next) => {
        if (!armed) return next()
        armed = false
        throw value
      })
      await execute(mode, stage([listener, once]))
      expect(errors).toHaveLength(1)
      expect(errors[0]).toBeInstanceOf(Error)
      expect(value === frozen ? errors[0] : errors[0]?.cause).toBe(value)
    }
  })

  test.for(modes)('hears of a tool that throws: the name, the call, the very error; once a call (%s)', async (mode) => {
    const heard: unknown[] = []
    const listener: Middleware = {
      name: 'listener',
      on_error(ctx, next) {
        heard.push([ctx.phase, ctx.toolName, ctx.toolCall?.callId, ctx.error.message])
        return next()
      },
    }
    const outcome = await execute(mode, stage([listener]))
    expectWhole(outcome)
    expect(heard).toEqual([['tool', 'broken', 'call_2', 'out of order']])
  })

  test.for(modes)('its own failure is not asked about, and is what the run rejects with (%s)', async (mode) => {
    let asks = 0
    const error = new Error('of the handler')
    const point: Point = 'on_error'
    const { failure } = await fail(
      mode,
      point,
      [
        layer('counter', point, (_ctx, next) => (asks++, next())),
        layer('culprit', point, () => {
          throw error
        }),
      ],
      'culprit',
    )
    expect(failure).toBe(error)
    expect(asks).toBe(1)
  })
})
