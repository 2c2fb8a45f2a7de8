import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { allow, replace_result } from '@koagent/core'
import type { Ctx, Decision, Middleware } from '@koagent/core'
import { hooks, points } from '../hooks.ts'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import { fail, kindOf, layer, stage, valueAt } from '../testing/stage.ts'
import type { AnyHook } from '../testing/stage.ts'

const afters = points.filter((point) => kindOf(point) === 'after')

/** A field as text that layers append to. */
const textual = [
  ['on_input', 'message'],
  ['before_llm_step', 'request'],
  ['around_llm_step', 'request'],
  ['before_tool', 'args'],
  ['after_llm_step', 'step'],
  ['after_tool', 'result'],
  ['after_turn', 'result'],
  ['after_run', 'result'],
] as const

/** The same value with its text put through a function. */
function mapText(value: unknown, change: (text: string) => string): unknown {
  const { text, path, system, content, message, reason } = value as Record<string, any>
  if (path !== undefined) return { ...(value as object), path: change(path) }
  if (text !== undefined) return { ...(value as object), text: change(text) }
  if (message !== undefined) return { ...(value as object), message: mapText(message, change) }
  if (content !== undefined) return { ...(value as object), content: [{ type: 'text', text: change(content[0]?.text ?? '') }] }
  if ('model' in (value as object)) return { ...(value as object), system: change(system ?? '') }
  return { ...(value as object), reason: change(reason ?? '') }
}

const letters = (value: unknown): string => JSON.stringify(value).match(/[AB]{1,2}(?=")/)?.[0] ?? ''

describe('rewrites', () => {
  test.for(textual)('of ctx.%s at %s apply in registration order, whatever each takes', async ([point, field]) => {
    for (const mode of modes) {
      for (const slow of ['A', 'B']) {
        const seen: string[] = []
        const rewriter = (name: string): Middleware =>
          layer(name, point, async (ctx, next) => {
            if (name === slow) await setImmediate()
            Object.assign(ctx, { [field]: mapText(ctx[field], (text) => text + name) })
            return next()
          })
        const watch = layer('watch', point, (ctx, next) => (seen.push(letters(ctx[field])), next()))
        expectWhole(await execute(mode, stage([rewriter('A'), rewriter('B'), watch])))
        expect(seen[0]).toBe('AB')
      }
    }
  })

  test.for(modes)('of arguments by allow({ args }) are assignments too; what is left out stays (%s)', async (mode) => {
    for (const [outer, inner, expected] of [
      [allow({ args: { path: 'A' } }), allow(), 'A'],
      [allow(), allow({ args: { path: 'B' } }), 'B'],
      [allow({ args: { path: 'A' } }), allow({ context: 'note' }), 'A'],
      [allow({ args: { path: 'A' } }), allow({ args: { path: 'B' } }), 'B'],
      [allow({ args: { path: 'A' } }), undefined, 'A'],
    ] as const) {
      const once =
        (decision: Decision | undefined): AnyHook =>
        (_ctx, next) =>
          decision ?? next()
      const outcome = await execute(mode, stage([layer('a', 'before_tool', once(outer)), layer('b', 'before_tool', once(inner))]))
      expect(outcome.events.find((event) => event.type === 'tool_result')).toMatchObject({ args: { path: expected } })
    }
  })

  test.for(modes)('of a result on the way out are seen by the layers further out only (%s)', async (mode) => {
    for (const point of ['after_tool', 'after_llm_step'] as const) {
      const seen: string[] = []
      const watch = (name: string): Middleware =>
        layer(name, point, async (_ctx, next) => void seen.push(`${name}:${letters(await next())}`))
      const rewriter = layer('rewriter', point, async (_ctx, next) => mapText(await next(), (text) => `${text}A`))
      await execute(mode, stage([watch('outer'), rewriter, watch('inner')]))
      expect(seen.slice(0, 2)).toEqual(['inner:', 'outer:A'])
    }
  })
})

describe('notes for the model', () => {
  const noting = ['on_session_start', 'before_llm_step', 'before_tool', 'after_tool'] as const

  test.for(noting)('of %s stand in registration order, one a line, whenever they are added', async (point) => {
    for (const mode of modes) {
      for (const outerLast of [false, true]) {
        const note = (name: string, last: boolean): Middleware =>
          layer(name, point, async (ctx, next) => {
            if (last) await next()
            ;(ctx as unknown as Ctx<'before_tool'>).addContext(`note of ${name}`)
            return last ? undefined : next()
          })
        const requests: string[] = []
        const listening: Middleware = {
          name: 'listening',
          around_llm_step: (ctx, next) => (requests.push(JSON.stringify(ctx.request.messages)), next()),
        }
        await execute(mode, stage([note('a', outerLast), note('b', !outerLast), note('c', false), listening]))
        expect(requests.join()).toContain('note of a\\nnote of b\\nnote of c')
      }
    }
  })

  test.for(modes)('by allow({ context }) join the others, also when a stricter decision wins (%s)', async (mode) => {
    const outcome = await execute(
      mode,
      stage([
        layer('a', 'before_tool', () => allow({ context: 'note of a' })),
        layer('b', 'before_tool', () => replace_result('x')),
        layer('c', 'before_tool', async (_ctx, next) => (await next(), allow({ context: 'note of c' }))),
      ]),
    )
    const result = outcome.events.find((event) => event.type === 'tool_result')
    expect(result).toMatchObject({
      status: 'replaced',
      content: [
        { type: 'text', text: 'x' },
        { type: 'text', text: 'note of a\nnote of c', added: true },
      ],
    })
  })
})

describe('a rewrite when it is too late', () => {
  const late = points.filter((point) => kindOf(point) !== 'after' && hooks[point].write.length > 0 && point !== 'on_event')

  test.for(late.flatMap((point) => hooks[point].write.map((field) => [field, point] as const)))(
    'of ctx.%s at %s after next() is a contract error, swallowed or not',
    async ([field, point]) => {
      for (const [i, swallows] of [true, false].entries()) {
        const { failure } = await fail(
          modes[i]!,
          point,
          [
            layer('culprit', point, async (ctx, next) => {
              await next()
              try {
                Object.assign(ctx, { [field]: ctx[field] })
              } catch (refusal) {
                if (!swallows) throw refusal
              }
            }),
          ],
          'culprit',
        )
        expect(failure).toMatchObject({ code: 'hook_contract' })
        expect((failure as Error).message).toContain(`ctx.${field} after next()`)
      }
    },
  )

  test.for(modes)('by allow({ args }) after next() is one too (%s)', async (mode) => {
    const late = layer('culprit', 'before_tool', async (_ctx, next) => (await next(), allow({ args: { path: 'late' } })))
    const { failure } = await fail(mode, 'before_tool', [late], 'culprit')
    expect((failure as Error).message).toContain('after next()')
  })

  test.for(afters)('at %s while next() is pending is a contract error', async (point) => {
    for (const mode of modes) {
      const { failure } = await fail(
        mode,
        point,
        [
          layer('culprit', point, (ctx, next) => {
            const inner = next()
            Object.assign(ctx, { [hooks[point].write[0]!]: valueAt(point) })
            return inner
          }),
          layer('slow', point, async (_ctx, next) => (await setImmediate(), next())),
        ],
        'culprit',
      )
      expect((failure as Error).message).toContain('pending')
    }
  })
})
