import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { allow, ask, defineTool, deny, replace_result, retry, stop } from '@koagent/core'
import type { JsonObject, Middleware } from '@koagent/core'
import { sameJson } from './freeze.ts'
import { callTools } from './testing/calls.ts'
import { modes } from './testing/kit.ts'

const mode = fc.constantFrom(...modes)
const quiet = { ...console, error: () => {} }

/** What a layer does at a gate, by its index in a list that fast-check makes. */
const gateAct = fc.constantFrom(
  'pass',
  'allow',
  'ask',
  'deny',
  'rewrite',
  'invalid',
  'replace',
  'stop',
  'throw',
  'late ask',
  'late deny',
)
const answerAct = fc.constantFrom('pass', 'allow', 'deny', 'edit', 'invalid', 'throw', 'sly')
const layerOf = fc.record({
  permission: gateAct,
  before: gateAct,
  answer: answerAct,
  errors: fc.constantFrom('raise' as const, 'log' as const),
})

describe('whatever gates say', () => {
  test('what runs has just these arguments, with a yes to every question about them, and they fit the schema', async () => {
    await fc.assert(
      fc.asyncProperty(mode, fc.array(layerOf, { minLength: 1, maxLength: 4 }), async (mode, layers) => {
        let serial = 0
        const asked: { readonly args: JsonObject; readonly decision: string | undefined }[] = []
        const ran: JsonObject[] = []
        const fresh = (): JsonObject => ({ n: ++serial })
        const middleware = layers.map(({ permission, before, answer, errors }, index): Middleware => {
          const fail = (): never => {
            throw new Error(`layer ${index}`)
          }
          return {
            name: `layer-${index}`,
            errors,
            on_permission(_, next) {
              if (permission === 'ask') return ask(`${index}`)
              if (permission === 'deny') return deny(`${index}`)
              if (permission === 'allow') return allow()
              if (permission === 'throw') return fail()
              if (permission === 'late ask') return next().then(() => ask(`${index}`))
              if (permission === 'late deny') return next().then(() => deny(`${index}`))
              return next()
            },
            before_tool(ctx, next) {
              if (before === 'ask') return ask(`${index}`)
              if (before === 'deny') return deny(`${index}`)
              if (before === 'allow') return allow({ context: 'noted' })
              if (before === 'throw') return fail()
              if (before === 'replace') return replace_result('instead')
              if (before === 'stop') return stop('over')
              if (before === 'rewrite') return allow({ args: fresh() })
              if (before === 'invalid') ctx.args = { n: 'x' }
              if (before === 'late ask') return next().then(() => ask(`${index}`))
              if (before === 'late deny') return next().then(() => deny(`${index}`))
              return next()
            },
            on_permission_request(ctx, next) {
              if (answer === 'allow') return allow()
              if (answer === 'deny') return deny(`${index}`)
              if (answer === 'edit') return allow({ args: fresh() })
              if (answer === 'invalid') return allow({ args: { n: 'x' } })
              if (answer === 'throw') return fail()
              if (answer === 'sly') ctx.args = fresh()
              return next()
            },
          }
        })
        // Outermost: sees what permission came to in the end.
        const witness: Middleware = {
          name: 'witness',
          async on_permission(ctx, next) {
            const decision = await next()
            asked.push({ args: ctx.args, decision: decision?.kind })
            return decision
          },
        }
        const count = defineTool({
          name: 'count',
          description: '',
          input: z.object({ n: z.number() }),
          execute: (args) => (ran.push(args), 'ran'),
        })
        const called = await callTools(mode, {
          calls: [{ name: 'count', args: { n: 0 } }],
          tools: [count],
          middleware: [witness, ...middleware],
          agent: { logger: quiet },
        })
        expect(called.of('permission_request')).toHaveLength(called.of('permission_resolved').length)
        const status = called.status['c0']
        expect(ran).toHaveLength(status === 'ok' ? 1 : 0)
        if (status !== 'ok') return
        const [args] = ran
        const last = asked.at(-1)
        expect(last?.args).toEqual(args)
        expect(last?.decision).not.toBe('deny')
        expect(typeof args?.['n']).toBe('number')
        expect(called.of('tool_result')[0]?.args).toEqual(args)
        // Whoever asked got a yes for exactly these arguments.
        const questions = layers.some(({ permission, before }) => /ask/.test(permission) || /ask/.test(before))
        const answer = called.of('permission_resolved').at(-1)
        if (!questions) return
        expect(answer?.decision).toBe('allow')
        expect(sameJson(answer?.args, args)).toBe(true)
        const asker = called.of('permission_request').at(-1)?.asker ?? ''
        expect(
          ['witness', ...middleware.map(({ name }) => name)].slice(0, middleware.findIndex(({ name }) => name === asker) + 2),
        ).toContain(answer?.by)
      }),
      { numRuns: 100 },
    )
  }, 30_000)
})

describe('whatever layers throw or return', () => {
  const junk = fc.constantFrom<unknown>(
    undefined,
    null,
    0,
    'text',
    {},
    [],
    true,
    { kind: 'nonsense' },
    { kind: 'allow', args: 1 },
    deny('no'),
    stop('over'),
    retry(),
    replace_result({ n: 1n }),
  )
  const act = fc.oneof(
    fc.record({ kind: fc.constant('return' as const), value: junk }),
    fc.record({
      kind: fc.constantFrom('throw' as const, 'reject' as const),
      value: fc.constantFrom<unknown>(new Error('boom'), 'text', undefined, null, 0),
    }),
    fc.record({ kind: fc.constantFrom('pass' as const, 'twice' as const, 'after' as const, 'loose' as const), value: junk }),
  )
  const points = ['on_permission', 'before_tool', 'on_permission_request', 'around_tool', 'after_tool', 'on_error'] as const
  const layer = fc.record({
    point: fc.constantFrom(...points),
    act,
    errors: fc.constantFrom('raise' as const, 'log' as const, 'ignore' as const),
  })

  test('each call has exactly one tool_result event and one stored result, and the run ends in order', async () => {
    await fc.assert(
      fc.asyncProperty(mode, fc.array(layer, { maxLength: 5 }), fc.boolean(), async (mode, layers, asks) => {
        let runs = 0
        const middleware = layers.map(({ point, act, errors }, index): Middleware => {
          const hook = (_: unknown, next: () => Promise<unknown>): unknown => {
            if (act.kind === 'throw') throw act.value
            if (act.kind === 'reject') return Promise.reject(act.value)
            if (act.kind === 'return') return act.value
            if (act.kind === 'after') return next().then(() => act.value)
            if (act.kind === 'twice') return Promise.all([next(), next()])
            if (act.kind === 'loose') return void next()
            return next()
          }
          return { name: `layer-${index}`, errors, [point]: hook }
        })
        const doubt: Middleware = {
          name: 'doubt',
          before_tool: (_, next) => (asks ? ask('?') : next()),
          on_permission_request: () => allow(),
        }
        const input = z.looseObject({})
        const called = await callTools(mode, {
          calls: ['good', 'bad', 'nope', { name: 'good', args: '{' }],
          tools: [
            defineTool({ name: 'good', description: '', input, execute: () => ++runs }),
            defineTool({ name: 'bad', description: '', input, execute: () => Promise.reject(new Error('bad')) }),
          ],
          middleware: [...middleware, doubt],
          agent: { logger: quiet },
        })
        expect(called.results.map(({ callId }) => callId)).toEqual(['c0', 'c1', 'c2', 'c3'])
        expect(called.told.toSorted()).toEqual(['c0', 'c1', 'c2', 'c3'])
        expect(called.of('error')).toHaveLength(called.error === undefined ? 0 : 1)
        expect(runs).toBeLessThanOrEqual(10)
        const refused = called.status['c0'] === 'denied' || called.status['c0'] === 'blocked'
        if (refused) expect(runs).toBe(0)
      }),
      { numRuns: 100 },
    )
  }, 30_000)
})
