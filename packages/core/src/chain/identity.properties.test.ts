import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { allow, deny, forTools, onEvents, replace_result, retry, stack, stop, when } from '@koagent/core'
import type { Middleware } from '@koagent/core'
import { points } from '../hooks.ts'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import { comparable, layer, stage, valueAt } from '../testing/stage.ts'
import type { AnyHook } from '../testing/stage.ts'

/** The ways to do nothing. */
const identities: Record<string, AnyHook> = {
  'returns next()': (_ctx, next) => next(),
  'awaits next() and returns it': async (_ctx, next) => {
    const value = await next()
    return value
  },
  'awaits next() and returns nothing': async (_ctx, next) => {
    await next()
  },
  'follows next() by then': (_ctx, next) => next().then((value) => value),
  'takes its time': async (_ctx, next) => {
    await Promise.resolve()
    try {
      return await next()
    } finally {
      await Promise.resolve()
    }
  },
  'notes what next() throws, and throws it': async (_ctx, next) => {
    const errors: unknown[] = []
    try {
      return await next()
    } catch (error) {
      errors.push(error)
      throw error
    }
  },
  'only looks': (ctx, next) => (void [ctx.decision, ctx.args, ctx.request, ctx.signal, ctx.session.messages], next()),
}

const wrappers: Record<string, (m: Middleware) => Middleware> = {
  'not at all': (m) => m,
  'in a stack': (m) => stack('s', [stack('t', [m])]),
  'in when': (m) => when(() => true, m),
  'in forTools': (m) => forTools(/./, m),
  'in all of them': (m) =>
    forTools(
      ['look', 'broken'],
      when(() => true, stack('s', [m])),
    ),
}

/** Does it once, and from then on nothing. */
function once(act: AnyHook): AnyHook {
  let armed = true
  return (ctx, next) => {
    if (!armed) return next()
    armed = false
    return act(ctx, next)
  }
}

const failure = new Error('of a layer')

/** Layers that do something, each made anew for every run. */
const acting: Record<string, (name: string) => Middleware> = {
  rewriter: (name) =>
    layer(
      name,
      'before_tool',
      (ctx, next) => (Object.assign(ctx, { args: { path: `${String((ctx.args as { path?: string }).path)}/${name}` } }), next()),
    ),
  noter: (name) => layer(name, 'before_tool', async (_ctx, next) => (await next(), allow({ context: `note of ${name}` }))),
  denier: (name) => layer(name, 'on_permission', (ctx, next) => (ctx.toolName === 'broken' ? deny(`by ${name}`) : next())),
  replacer: (name) => layer(name, 'before_tool', () => replace_result(name)),
  redactor: (name) => layer(name, 'after_tool', async (_ctx, next) => (await next(), valueAt('after_tool', name))),
  retrier: (name) =>
    layer(
      name,
      'after_llm_step',
      once(async (_ctx, next) => (await next(), retry({ reason: name }))),
    ),
  'retrier of tools': (name) =>
    layer(
      name,
      'on_error',
      once(() => retry({ reason: name })),
    ),
  stopper: (name) => layer(name, 'after_tool', async (_ctx, next) => (await next(), stop(name))),
  shorter: (name) => layer(name, 'before_run', (ctx, next) => (Object.assign(ctx, { maxTurns: 2 }), void name, next())),
  cache: (name) => layer(name, 'around_tool', () => valueAt('around_tool', name)),
  shouter: (name) => ({
    name,
    around_llm_step(ctx, next) {
      ctx.transform(async function* shout(parts) {
        for await (const part of parts) yield part.type === 'text_delta' ? { ...part, text: part.text.toUpperCase() } : part
      })
      return next()
    },
  }),
  emitter: (name) => layer(name, ['before_turn', 'after_tool'], (ctx, next) => (ctx.emit(name, ctx.point), next())),
  editor: (name) => ({
    name,
    on_event: onEvents(['text_delta'], (event) => ({ ...event, text: `${event.text}.` }), { rewrite: true }),
  }),
  failing: (name) =>
    layer(name, 'after_llm_step', async (_ctx, next) => {
      await next()
      throw failure
    }),
  lenient: (name) =>
    layer(
      name,
      ['before_tool', 'around_llm_step', 'after_turn'],
      () => {
        throw failure
      },
      { errors: 'ignore' },
    ),
}

const plan = fc.record({
  stack: fc.array(fc.constantFrom(...Object.keys(acting)), { maxLength: 4 }),
  place: fc.nat(4),
  how: fc.constantFrom(...Object.keys(identities)),
  wrapped: fc.constantFrom(...Object.keys(wrappers)),
  trace: fc.boolean(),
  ofRun: fc.boolean(),
  at: fc.oneof(fc.constant(points), fc.subarray([...points], { minLength: 1 })),
})

// Whole runs by the hundred: how long they take depends on what else the machine does.
describe('a middleware that does nothing changes nothing', { timeout: 60_000 }, () => {
  test.for(modes)('wherever it stands, however it is written and wrapped (%s)', async (mode) => {
    await fc.assert(
      fc.asyncProperty(plan, async ({ stack: names, place, how, wrapped, trace, ofRun, at }) => {
        const make = (): Middleware[] => names.map((name, i) => acting[name]!(`${name.replaceAll(' ', '-')}${i}`))
        const identity = wrappers[wrapped]!(layer('identity', at, identities[how]!))
        const layers = make()
        const plain = await execute(mode, stage(make(), { trace }))
        const at0 = Math.min(place, layers.length)
        const outcome = ofRun
          ? await execute(mode, stage(layers, { trace }), 'go', { middleware: [identity] })
          : await execute(mode, stage([...layers.slice(0, at0), identity, ...layers.slice(at0)], { trace }))
        expectWhole(outcome)
        expect(comparable(outcome)).toEqual(comparable(plain))
        if (plain.error === failure) expect(outcome.error).toBe(failure)
      }),
      { numRuns: 40 },
    )
  })

  test.for(Object.keys(identities))('a hundred layers deep: it %s', async (how) => {
    for (const mode of modes) {
      const plain = await execute(mode, stage())
      const many = Array.from({ length: 100 }, (_, i) => layer(`l${i}`, points, identities[how]!))
      const outcome = await execute(mode, stage(many))
      expect(comparable(outcome)).toEqual(comparable(plain))
    }
  })
})
