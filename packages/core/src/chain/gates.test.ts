import { describe, expect, test } from 'vitest'
import { allow, ask, continue_run, deny, raise, replace_result, retry, stop } from '@koagent/core'
import type { Decision, Middleware, Point } from '@koagent/core'
import { hooks, points } from '../hooks.ts'
import { execute, expectWhole, modes, recorder } from '../testing/kit.ts'
import type { Mode } from '../testing/kit.ts'
import { fail, kindOf, layer, stage, valueAt } from '../testing/stage.ts'
import type { AnyHook } from '../testing/stage.ts'

/** One decision of each kind. */
const samples: Record<string, Decision> = {
  allow: allow(),
  ask: ask('really?'),
  deny: deny('no'),
  replace_result: replace_result('instead'),
  retry: retry({ reason: 'again' }),
  stop: stop('enough'),
  continue_run: continue_run('go on'),
  raise: raise(new Error('raised')),
  drop: { kind: 'drop' },
}

const gates = points.filter((point) => kindOf(point) === 'gate')
const pairs = gates.flatMap((point) =>
  hooks[point].decisions.flatMap((a) => hooks[point].decisions.map((b) => [point, a, b] as const)),
)

/** How a layer gives its decision: it is the same whether inner layers are asked before or after it. */
const ways: Record<string, (decision: Decision) => AnyHook> = {
  'without next()': (decision) => () => decision,
  'before next()': (decision) => async (_ctx, next) => {
    void next
    await Promise.resolve()
    return decision
  },
  'after next()': (decision) => async (_ctx, next) => {
    await next()
    return decision
  },
}

function decisionsOf(point: Point): readonly string[] {
  return hooks[point].decisions
}

/** Which pass is looked at: at on_permission that of the call which the stage does not ask about. */
function passOf(point: Point): number {
  return point === 'on_permission' ? 1 : 0
}

/** Layers further in than the asker, as all of these are, can only say no. */
function counts(point: Point, kind: string): boolean {
  return point !== 'on_permission_request' || kind !== 'allow'
}

/** What a gate comes to, as a layer outside those tested sees it. */
async function outcomeOf(mode: Mode, point: Point, layers: readonly Middleware[]): Promise<Decision | undefined> {
  const given: unknown[] = []
  const seen: unknown[] = []
  const observer = layer('observer', point, async (ctx, next) => {
    given.push(await next())
    seen.push(ctx.decision)
  })
  await execute(mode, stage([observer, ...layers]))
  expect(given).toEqual(seen)
  return seen[passOf(point)] as Decision | undefined
}

describe('gates only tighten', () => {
  test('deny is the strictest decision wherever it is possible', () => {
    const denying = gates.filter((point) => decisionsOf(point).includes('deny'))
    expect(denying.map((point) => decisionsOf(point)[0])).toEqual(denying.map(() => 'deny'))
  })

  test.for(pairs)('%s: of %s outside and %s inside the stricter wins, however they are given', async ([point, outer, inner]) => {
    const order: readonly string[] = hooks[point].decisions.filter((kind) => point !== 'before_tool' || kind !== 'stop')
    const stricter = [outer, inner]
      .filter((kind) => order.includes(kind) && counts(point, kind))
      .toSorted((a, b) => order.indexOf(a) - order.indexOf(b))[0]
    for (const [i, [, outerWay]] of Object.entries(ways).entries()) {
      const [, innerWay] = Object.entries(ways)[(i + 1) % 3]!
      const mode = modes[i % 2]!
      const outcome = await outcomeOf(mode, point, [
        layer('outer', point, outerWay(samples[outer]!)),
        layer('inner', point, innerWay(samples[inner]!)),
      ])
      expect(outcome?.kind).toBe(stricter ?? (outer === 'stop' ? 'stop' : undefined))
    }
  })

  test.for(modes)('no opinion is no decision: the next one counts, whichever it is (%s)', async (mode) => {
    for (const point of gates) {
      expect(await outcomeOf(mode, point, [layer('none', point, (_ctx, next) => next())])).toBeUndefined()
      for (const kind of hooks[point].decisions) {
        const outcome = await outcomeOf(mode, point, [
          layer('none', point, async (_ctx, next) => void (await next())),
          layer('some', point, () => samples[kind]),
        ])
        expect(outcome).toBe(counts(point, kind) ? samples[kind] : undefined)
      }
    }
  })

  test.for(modes)('an ask keeps the outermost asker, whoever asked first (%s)', async (mode) => {
    for (const way of Object.values(ways)) {
      const asks: string[] = []
      const asking = (name: string): Middleware => layer(name, 'before_tool', way(ask(`${name} asks`)))
      const listener: Middleware = {
        name: 'listener',
        on_permission: (_ctx, next) => next(),
        on_permission_request: (ctx, next) => (asks.push(`${ctx.asker}: ${ctx.reason}`), next()),
      }
      await execute(mode, stage([listener, asking('outer'), asking('inner')], { middleware: [] }))
      // The stage's own layer asks about `look` at on_permission, further out; `broken` has only these two.
      expect(asks).toEqual(['asker: may it look?', 'outer: outer asks'])
    }
  })

  test.for(modes)('a reason may be reworded further out, and the denial stays the one of who denied (%s)', async (mode) => {
    for (const point of ['on_permission', 'before_tool', 'on_permission_request'] as const) {
      const outcome = await execute(
        mode,
        stage([
          layer('polite', point, async (_ctx, next) => ((await next()) ? deny('please do not') : undefined)),
          layer('denier', point, () => deny('NO')),
        ]),
      )
      const result = outcome.events.find((event) => event.type === 'tool_result')
      expect(result).toMatchObject({ by: 'denier', isError: true })
      expect(JSON.stringify(result)).toContain('please do not')
    }
  })

  test.for(modes)('an allow further out never takes back what is stricter further in (%s)', async (mode) => {
    for (const point of ['on_permission', 'before_tool'] as const) {
      for (const way of Object.values(ways)) {
        const trace: string[] = []
        const denier = layer('denier', point, () => deny('no'))
        const outcome = await execute(mode, stage([layer('lax', point, way(allow())), denier, recorder('inner', trace)]))
        expectWhole(outcome)
        expect(trace.some((entry) => entry.includes('around_tool'))).toBe(false)
      }
    }
  })

  test.for(modes)('stop stands beside a decision: the call has its decision, and the run ends (%s)', async (mode) => {
    for (const beside of [allow(), replace_result('x'), ask('?'), deny('no')]) {
      for (const [outer, inner] of [
        [samples.stop, beside],
        [beside, samples.stop],
      ]) {
        const after: AnyHook = async (_ctx, next) => (await next(), outer)
        const outcome = await execute(mode, stage([layer('a', 'before_tool', after), layer('b', 'before_tool', () => inner)]))
        expect(outcome.result).toMatchObject({ status: 'stopped', reason: 'enough', turns: 1 })
        const [result] = outcome.events.filter((event) => event.type === 'tool_result')
        expect(result?.status).toBe('blocked')
      }
    }
  })
})

describe('what skips what', () => {
  const notDeny = gates.flatMap((point) =>
    hooks[point].decisions.filter((kind) => kind !== 'deny').map((kind) => [point, kind] as const),
  )

  test.for(notDeny)('%s: after a %s without next() the layers inside are still asked, and see it', async ([point, kind]) => {
    for (const mode of modes) {
      const seen: unknown[] = []
      await execute(
        mode,
        stage([
          layer('outer', point, () => samples[kind]),
          layer('inner', point, (ctx, next) => (seen.push(ctx.decision), next())),
        ]),
      )
      expect(seen[passOf(point)]).toBe(counts(point, kind) ? samples[kind] : undefined)
    }
  })

  test.for(gates.filter((point) => decisionsOf(point).includes('deny')))('%s: a deny ends the chain', async (point) => {
    for (const mode of modes) {
      for (const way of ['without next()', 'before next()']) {
        const trace: string[] = []
        await execute(mode, stage([layer('outer', point, ways[way]!(deny('no'))), recorder('inner', trace)]))
        expect(trace.filter((entry) => entry.endsWith(`:${point}`))).toEqual([])
      }
    }
  })

  test.for(points.filter((point) => kindOf(point) === 'after'))(
    '%s: a value without next() becomes the field, and the layers inside see it',
    async (point) => {
      for (const mode of modes) {
        const given = valueAt(point)
        const seen: unknown[] = []
        await execute(
          mode,
          stage([
            layer('outer', point, () => given),
            layer('inner', point, (ctx, next) => (seen.push(ctx[hooks[point].write[0]!]), next())),
          ]),
        )
        expect(seen[0]).toEqual(given)
      }
    },
  )

  test.for(points.filter((point) => kindOf(point) === 'around'))('%s: leaving next() uncalled skips the work', async (point) => {
    for (const mode of modes) {
      const trace: string[] = []
      const values: unknown[] = []
      const outcome = await execute(
        mode,
        stage([
          layer('outer', point, async (_ctx, next) => void values.push(await next())),
          layer('skipping', point, () => valueAt(point)),
          recorder('inner', trace),
        ]),
      )
      expectWhole(outcome)
      expect(trace.filter((entry) => entry.endsWith(`:${point}`))).toEqual([])
      expect(JSON.stringify(values[0])).toContain('of a layer')
    }
  })
})

describe('what a point does not take', () => {
  const wrong = points.flatMap((point) => {
    const takes = new Set<string>(hooks[point].decisions)
    return Object.keys(samples)
      .filter((kind) => !takes.has(kind) || kind === 'drop')
      .map((kind) => [point, kind] as const)
  })

  test.for(wrong)('%s: returning %s is a contract error that names both', async ([point, kind]) => {
    for (const [i, way] of [ways['without next()']!, ways['after next()']!].entries()) {
      const { failure } = await fail(modes[i]!, point, [layer('culprit', point, way(samples[kind]!))], 'culprit')
      expect(failure).toMatchObject({ code: 'hook_contract' })
      expect((failure as Error).message).toContain(`'culprit' at ${point}`)
      expect((failure as Error).message).toContain(kind === 'drop' && point === 'on_event' ? 'dropped' : `returned ${kind}`)
    }
  })

  const garbage = [{}, null, true, 'yes', 0, [], { kind: 'maybe' }, () => {}, Symbol('s')]

  test.for(points)('%s: so is a value that is none of its own', async (point) => {
    for (const [i, value] of garbage.entries()) {
      const { failure } = await fail(modes[i % 2]!, point, [layer('culprit', point, () => value)], 'culprit')
      expect(failure).toMatchObject({ code: 'hook_contract' })
    }
  })
})
