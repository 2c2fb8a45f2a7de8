import { createHook } from 'node:async_hooks'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import type { Context } from '@koagent/core'
import { points } from '../hooks.ts'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import { fail, layer, stage } from '../testing/stage.ts'
import type { AnyHook } from '../testing/stage.ts'

const everywhere = points.flatMap((point) => modes.map((mode) => [point, mode] as const))

describe('a layer that returns the promise that next() gave', () => {
  test.for(everywhere)('at %s is over when the layer around it goes on (%s)', async ([point, mode]) => {
    let kept: Context | undefined
    let outside = 0
    const late = layer('outer', point, async (_ctx, next) => {
      const value = await next()
      outside++
      kept?.emit('late')
      return value
    })
    const inner = layer('inner', point, (ctx, next) => ((kept = ctx), next()))
    const outcome = await execute(mode, stage([late, inner]))
    expectWhole(outcome)
    expect(outside).toBeGreaterThan(0)
    expect(outcome.events.some(({ type }) => type === 'custom')).toBe(false)
  })

  test.for(everywhere)(
    'at %s is refused a second next() a moment later, and the chain is as it was (%s)',
    async ([point, mode]) => {
      const refused: unknown[] = []
      const inner: AnyHook = (_ctx, next) => {
        const value = next()
        const again = (): void => void next().catch((error: unknown) => refused.push(error))
        value.then(again, again)
        return value
      }
      const outcome = await execute(
        mode,
        stage([layer('outer', point, async (_ctx, next) => next()), layer('inner', point, inner)]),
      )
      await setImmediate()
      expect(outcome.error).toBeUndefined()
      expect(refused.length).toBeGreaterThan(0)
      for (const error of refused) expect(error).toMatchObject({ code: 'hook_contract', middleware: 'inner' })
    },
  )
})

test.for(everywhere)(
  'a layer that answers at %s without a promise is over at once: its next() is refused (%s)',
  async ([point, mode]) => {
    let refused = 0
    let entered = 0
    const hasty: AnyHook = (_ctx, next) => queueMicrotask(() => void next().catch(() => refused++))
    await fail(mode, point, [layer('hasty', point, hasty), layer('inner', point, (_ctx, next) => (entered++, next()))], 'hasty')
    await setImmediate()
    expect(refused).toBeGreaterThan(0)
    // Where the failure of an observer of events fails the run, those further in get the event all the same.
    if (point !== 'on_event') expect(entered).toBe(0)
  },
)

describe("somebody else's thenable", () => {
  // oxlint-disable-next-line unicorn/no-thenable -- that is what they are
  const thenable = (then: unknown): unknown => ({ then })

  test.for(everywhere)('is as good as a promise (%s, %s)', async ([point, mode]) => {
    const foreign: AnyHook = (_ctx, next) => {
      const value = next()
      return thenable(value.then.bind(value))
    }
    const outcome = await execute(mode, stage([layer('foreign', point, foreign)]))
    expectWhole(outcome)
    expect(outcome.result?.text).toBe('all done')
  })

  test.for(everywhere)('that throws is the failure of its layer (%s, %s)', async ([point, mode]) => {
    const error = new Error('no then')
    const throwing: AnyHook = () =>
      thenable(() => {
        throw error
      })
    const { failure } = await fail(mode, point, [layer('culprit', point, throwing)], 'culprit')
    expect(failure).toHaveProperty('message', 'no then')
  })
})

// The tool of the stage that fails costs one a layer: the failure is marked as heard.
describe('how many promises layers make', () => {
  /** Nothing but the run happens meanwhile: it waits for no timer and no network. */
  async function promises(hook: AnyHook, count: number): Promise<{ made: number; entered: number }> {
    let entered = 0
    const counting: AnyHook = (ctx, next) => (entered++, hook(ctx, next))
    const agent = stage(Array.from({ length: count }, (_, i) => layer(`l${i}`, points, counting)))
    await agent.run('what happens once only')
    entered = 0
    let made = 0
    const hooks = createHook({ init: (_id, type) => void (type === 'PROMISE' && made++) }).enable()
    try {
      await agent.run('go')
    } finally {
      hooks.disable()
    }
    return { made, entered }
  }

  async function perLayer(hook: AnyHook): Promise<number> {
    const [one, many] = [await promises(hook, 1), await promises(hook, 11)]
    return (many.made - one.made) / (many.entered - one.entered)
  }

  test('a layer that returns what next() gives makes none', async () => {
    expect(await perLayer((_ctx, next) => next())).toBeCloseTo(0, 1)
  })

  test('one that waits for next() makes two besides its own two', async () => {
    expect(await perLayer(async (_ctx, next) => await next())).toBeCloseTo(4, 1)
  })
})
