import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { HookContractError } from '@koagent/core'
import type { Ctx } from '@koagent/core'
import { points } from '../hooks.ts'
import type { Point } from '../hooks.ts'
import { execute, modes, recorder } from '../testing/kit.ts'
import { fail, kindOf, layer, stage, valueAt } from '../testing/stage.ts'
import type { AnyHook } from '../testing/stage.ts'

const everywhere = points.flatMap((point) => modes.map((mode) => [point, mode] as const))

/** How a layer can break the rules of `next()`. */
const breaches: readonly (readonly [name: string, hook: AnyHook, message: RegExp, goesInward?: boolean])[] = [
  ['forgets next()', () => {}, /did not call next/, false],
  ['forgets next(), asynchronously', async () => {}, /did not call next/, false],
  ['calls next() again and passes that on', async (_ctx, next) => (await next(), next()), /more than once/],
  [
    'calls next() again and swallows the refusal',
    async (_ctx, next) => {
      await next()
      await next().catch(() => {})
    },
    /more than once/,
  ],
  [
    'calls next() twice in one tick and returns neither',
    (_ctx, next) => {
      void next()
      void next()
    },
    /more than once/,
  ],
  ['calls next() twice in one tick and awaits both', (_ctx, next) => Promise.all([next(), next()]), /more than once/],
  [
    'settles while next() is pending',
    (_ctx, next) => {
      void next()
    },
    /pending/,
  ],
  ['settles while next() is pending, asynchronously', async (_ctx, next) => void next(), /pending/],
  ['throws while next() is pending', (_ctx, next) => (void next(), never()), /of its own/],
]

async function later(ticks: number, call: () => void): Promise<void> {
  for (let i = 0; i < ticks; i++) await Promise.resolve()
  call()
}

function never(): never {
  throw new HookContractError('culprit', 'there', 'of its own')
}

/** At these points the work inside takes macrotasks, or starts new layers: none may run twice. */
function entries(trace: readonly string[], point: Point): number {
  return trace.filter((entry) => entry === `>inner:${point}`).length
}

describe.for(breaches)('a layer that %s', ([, hook, message, goesInward = true]) => {
  test.for(everywhere)(
    'fails at %s with an error that names it, and what stands inside runs once (%s)',
    async ([point, mode]) => {
      const trace: string[] = []
      let entered = 0
      const counting: AnyHook = (ctx, next) => (entered++, hook(ctx, next))
      const slow = layer('slow', 'on_event', async (_ctx, next) => {
        await Promise.resolve()
        return next()
      })
      const { failure } = await fail(mode, point, [layer('culprit', point, counting), recorder('inner', trace), slow], 'culprit')
      expect((failure as Error).message).toMatch(message)
      expect(failure).toMatchObject({ code: 'hook_contract', name: 'HookContractError' })
      if (failure instanceof HookContractError && !/of its own/.test(failure.message)) {
        expect(failure).toMatchObject({ middleware: 'culprit', point })
        expect(failure.message).toContain(`'culprit' at ${point}`)
      }
      if (point !== 'on_event') expect(entries(trace, point)).toBe(goesInward ? entered : 0)
    },
  )
})

describe('a next() that is called after its layer has settled', () => {
  const timings: readonly (readonly [string, (call: () => void) => void])[] = [
    ['in a microtask', (call) => void later(2, call)],
    ['in the next tick', (call) => process.nextTick(call)],
  ]
  const around = everywhere.filter(([point]) => kindOf(point) === 'around')

  test.for(timings.flatMap(([name, later]) => everywhere.map(([point, mode]) => [name, point, mode, later] as const)))(
    '%s: is refused, and nothing runs (%s, %s)',
    async ([, point, mode, later]) => {
      const trace: string[] = []
      const refusals: unknown[] = []
      const late = layer('culprit', point, (_ctx, next) =>
        later(() => void next().catch((error: unknown) => refusals.push(error))),
      )
      await fail(mode, point, [late, recorder('inner', trace)], 'culprit')
      await setImmediate()
      expect(refusals.length).toBeGreaterThan(0)
      for (const refusal of refusals) {
        expect(refusal).toBeInstanceOf(HookContractError)
        expect((refusal as Error).message).toMatch(/after the layer had settled/)
      }
      if (point !== 'on_event') expect(entries(trace, point)).toBe(0)
    },
  )

  test.for(around)('%s: is refused also where the layer answered in the place of what is inside (%s)', async ([point, mode]) => {
    const trace: string[] = []
    let refused = 0
    const transforming = layer('transforming', 'around_llm_step', (ctx, next) => {
      ;(ctx as unknown as Ctx<'around_llm_step'>).transform((parts) => parts)
      return next()
    })
    const late = layer('culprit', point, async (_ctx, next) => {
      for (const ticks of [3, 4, 5, 10]) void later(ticks, () => void next().catch(() => refused++))
      return valueAt(point)
    })
    const outcome = await execute(mode, stage([transforming, late, recorder('inner', trace)]))
    await setImmediate()
    expect(outcome.error).toBeUndefined()
    expect(refused).toBeGreaterThan(0)
    expect(entries(trace, point)).toBe(0)
  })
})

describe('what is inside fails while a layer has settled without waiting for it', () => {
  test.for(everywhere.filter(([point]) => point !== 'on_session_end' && point !== 'on_event'))(
    '%s: the inner error wins, and the breach is told as hook_error (%s)',
    async ([point, mode]) => {
      const inner = new Error('from inside')
      const outcome = await execute(
        mode,
        stage([
          layer('culprit', point, (_ctx, next) => void next()),
          layer('inner', point, async () => {
            await Promise.resolve()
            throw inner
          }),
        ]),
      )
      const told = outcome.events.filter((event) => event.type === 'hook_error')
      expect(told).toContainEqual(
        expect.objectContaining({
          middleware: 'culprit',
          error: expect.objectContaining({ message: expect.stringContaining('pending') }),
        }),
      )
      // Where a point fails closed, the inner failure is a deny by then, and there is nothing to win.
      if (point.startsWith('on_permission')) expect(outcome.result?.status).toBe('completed')
      else expect(outcome.error).toBe(inner)
    },
  )
})
