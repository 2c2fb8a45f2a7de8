import { describe, expect, test } from 'vitest'
import { allow, ask, deny, drop, onEvents, replace_result, retry, stop } from '@koagent/core'
import type { Change, Decision, Middleware, Point } from '@koagent/core'
import { hooks, points } from '../hooks.ts'
import { execute, expectWhole, modes, recorder } from '../testing/kit.ts'
import type { Mode } from '../testing/kit.ts'
import { comparable, kindOf, layer, stage, valueAt } from '../testing/stage.ts'

interface Applied {
  readonly middleware: string
  readonly point: string
  readonly changes: readonly Change[]
  readonly decision?: string
  readonly reason?: string
}

/** What the layers of a traced run changed and decided, but for the stage's own. */
async function applied(mode: Mode, layers: readonly Middleware[]): Promise<readonly Applied[]> {
  const outcome = await execute(mode, stage(layers, { trace: true }))
  expectWhole(outcome)
  return outcome.events.flatMap((event) => (event.type === 'hook_applied' && event.middleware !== 'asker' ? [event] : []))
}

const identity = (name: string, at: readonly Point[] = points): Middleware => layer(name, at, async (_ctx, next) => next())

describe('trace: true', () => {
  test.for(modes)('blames nobody where nobody changes or decides anything (%s)', async (mode) => {
    expect(await applied(mode, [identity('a'), recorder('b', []), layer('c', points, (_ctx, next) => next())])).toEqual([])
  })

  const rewritten = [
    ['before_run', 'maxTurns', 9],
    ['on_input', 'message', { role: 'user', content: [{ type: 'text', text: 'else' }] }],
    ['before_turn', 'maxTurns', 9],
    ['before_tool', 'args', { path: 'b' }],
    ['after_tool', 'result', valueAt('after_tool')],
    ['after_turn', 'result', { turn: 0, status: 'stopped', toolResults: [] }],
    ['after_turn', 'maxTurns', 9],
    ['after_llm_step', 'step', valueAt('after_llm_step')],
    ['after_run', 'result', valueAt('after_run')],
  ] as const

  test.for(rewritten)(
    '%s: a rewrite of ctx.%s is told of the layer that made it, with before and after',
    async ([point, field, to]) => {
      for (const mode of modes) {
        for (const after of kindOf(point) === 'after' ? [false, true] : [false]) {
          const rewriting = layer('rewriting', point, async (ctx, next) => {
            if (after) await next()
            Object.assign(ctx, { [field]: to })
            return after ? undefined : next()
          })
          const events = await applied(mode, [identity('outer'), rewriting, identity('inner')])
          expect(new Set(events.map((event) => `${event.middleware}:${event.point}`))).toEqual(new Set([`rewriting:${point}`]))
          const [change] = events[0]?.changes ?? []
          expect(change).toMatchObject({ field, after: to })
          expect(change?.before).not.toEqual(to)
        }
      }
    },
  )

  test.for(modes)('tells a request without its model and its tools’ code (%s)', async (mode) => {
    const rewriting = layer('rewriting', 'before_llm_step', (ctx, next) => {
      Object.assign(ctx, { request: { ...(ctx.request as object), system: 'be brief', tools: [] } })
      return next()
    })
    const [event] = await applied(mode, [rewriting])
    expect(event?.changes).toMatchObject([
      { field: 'request', before: { model: 'scripted', tools: ['look', 'broken'] }, after: { system: 'be brief', tools: [] } },
    ])
  })

  const kinds: Record<string, Decision> = {
    allow: allow(),
    ask: ask('why'),
    deny: deny('why'),
    replace_result: replace_result('x'),
    stop: stop('why'),
    retry: retry({ reason: 'why' }),
  }
  const decided = points.flatMap((point) =>
    hooks[point].decisions
      .filter((kind) => Object.hasOwn(kinds, kind) && !(point === 'on_permission_request' && kind === 'allow'))
      .map((kind) => [point, kind] as const),
  )

  test.for(decided)('%s: a %s is told of the layer that decided it, with its reason', async ([point, kind]) => {
    for (const mode of modes) {
      for (const after of [false, true]) {
        let armed = true
        const deciding = layer('deciding', point, async (_ctx, next) => {
          if (!armed) return next()
          armed = false
          if (after) await next()
          return kinds[kind]
        })
        const events = await applied(mode, [identity('outer'), deciding, identity('inner')])
        const reason = 'reason' in kinds[kind]! ? { reason: 'why' } : {}
        expect(events.map(({ middleware, point: at, decision }) => ({ middleware, point: at, decision }))).toEqual([
          { middleware: 'deciding', point, decision: kind },
        ])
        expect(events[0]).toMatchObject(reason)
      }
    }
  })

  test.for(points.filter((point) => kindOf(point) === 'around'))(
    '%s: a value of one’s own is told, by either way',
    async (point) => {
      for (const mode of modes) {
        for (const after of [false, true]) {
          const replacing = layer('replacing', point, async (_ctx, next) => {
            if (after) await next().catch(() => {})
            return valueAt(point)
          })
          const events = await applied(mode, [identity('outer'), replacing, identity('inner')])
          expect(new Set(events.map((event) => event.middleware))).toEqual(new Set(['replacing']))
          expect(events[0]?.changes.map((change) => change.field)).toEqual(['value'])
        }
      }
    },
  )

  test.for(modes)('tells nothing of a layer that failed and counts as absent (%s)', async (mode) => {
    const events = await applied(mode, [
      layer(
        'absent',
        'before_tool',
        (ctx) => {
          Object.assign(ctx, { args: { path: 'b' } })
          throw new Error('no')
        },
        { errors: 'ignore' },
      ),
      layer('refused', 'before_tool', () => retry(), { errors: 'ignore' }),
    ])
    expect(events).toEqual([])
  })

  test.for(modes)('tells the deny that a failure comes to where a point fails closed (%s)', async (mode) => {
    const failing = layer('failing', 'on_permission', () => {
      throw new Error('no')
    })
    const events = await applied(mode, [identity('outer'), failing])
    expect(events.map((event) => [event.middleware, event.decision])).toEqual([
      ['failing', 'deny'],
      ['failing', 'deny'],
    ])
  })

  test('tells the same in both modes, and of a dropped or rewritten event after it', async () => {
    const rewriting: Middleware = {
      name: 'rewriting',
      on_event: onEvents(['text_delta'], () => drop(), { rewrite: true }),
      before_tool: () => allow({ args: { path: 'b' }, context: 'note' }),
      after_tool: (_ctx, next) => next().then(() => stop('enough')),
    }
    const [a, b] = await Promise.all(modes.map((mode) => applied(mode, [rewriting])))
    const facts = (events: readonly Applied[] | undefined, without: string): unknown =>
      events?.filter((event) => event.point !== without).map(({ point, changes, decision }) => ({ point, changes, decision }))
    // What is caused while an event is under way skips on_event, where the layer that listens to a run stands.
    expect(facts(a, 'on_event')).toEqual(facts(b, 'on_event'))
    expect(b?.filter((event) => event.point === 'on_event')).toMatchObject([
      { decision: 'drop', changes: [] },
      { decision: 'drop', changes: [] },
      { decision: 'drop', changes: [] },
    ])
  })

  test.for(modes)('changes nothing else; and without it there is no hook_applied (%s)', async (mode) => {
    const layers = [
      layer('a', 'before_tool', () => allow({ args: { path: 'b' } })),
      layer('b', 'after_tool', async (_ctx, next) => (await next(), valueAt('after_tool'))),
    ]
    const traced = await execute(mode, stage(layers, { trace: true }))
    const plain = await execute(mode, stage(layers))
    expect(plain.events.some((event) => event.type === 'hook_applied')).toBe(false)
    expect(traced.events.some((event) => event.type === 'hook_applied')).toBe(true)
    expect(comparable(traced, ['hook_applied'])).toEqual(comparable(plain))
  })
})
