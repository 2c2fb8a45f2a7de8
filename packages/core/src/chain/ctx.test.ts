import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { allow, deny, stateKey } from '@koagent/core'
import type { Context, Ctx, Message } from '@koagent/core'
import { hooks, points } from '../hooks.ts'
import { isPlain } from '../freeze.ts'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import { layer, stage } from '../testing/stage.ts'

const cases = points.flatMap((point) => modes.map((mode) => [point, mode] as const))

/** Fields of every ctx. */
const shared = (
  'point agent session runId turn input metadata signal cancelled controller runtime logger path decision' as const
).split(' ')
/** Somebody's live objects: they are handed on as they are. */
const live = new Set(['signal', 'controller', 'logger', 'model', 'tool', 'tools', 'error', 'schema'])

/** The paths of plain data in a value that is not frozen. */
function unfrozen(value: unknown, path: string, found: string[] = []): string[] {
  if (!isPlain(value)) return found
  if (!Object.isFrozen(value)) found.push(path)
  for (const [key, child] of Object.entries(value)) if (!live.has(key)) unfrozen(child, `${path}.${key}`, found)
  return found
}

describe('a ctx', () => {
  test.for(cases)('at %s is frozen, and all that it and next() hand out, all the way down (%s)', async ([point, mode]) => {
    const found: string[] = []
    let entered = 0
    const look = async (ctx: Context & Record<string, unknown>, next: () => Promise<unknown>): Promise<void> => {
      entered++
      const check = (when: string): void => {
        if (!Object.isFrozen(ctx)) found.push('ctx')
        for (const field of [...shared, ...hooks[point].fields].filter((name) => !live.has(name))) {
          if (ctx[field] === undefined && !['decision', 'toolCall', 'toolName'].includes(field)) found.push(`${field} is missing`)
          // Where the session may be changed, it is the live one.
          if (field !== 'session') unfrozen(ctx[field], `${when}.${field}`, found)
          else unfrozen(ctx.session.messages, `${when}.messages`, found)
        }
      }
      check('before')
      unfrozen(await next(), 'value', found)
      check('after')
    }
    const plain = layer('plain', point, async (_ctx, next) => {
      const value = await next()
      // A decision that a layer made by hand.
      return hooks[point].decisions.some((kind) => kind === 'allow') ? { kind: 'allow' } : value
    })
    await execute(mode, stage([layer('outer', point, look), plain, layer('inner', point, look)]), 'go', {
      metadata: { user: { name: 'Ada', tags: ['x'] } },
    })
    expect([...new Set(found)]).toEqual([])
    expect(entered).toBeGreaterThan(1)
  })

  test.for(cases)('at %s refuses assignments to what is not rewritable, and changes nothing (%s)', async ([point, mode]) => {
    const refused = new Set<string>()
    const write: readonly string[] = hooks[point].write
    const fields = [...new Set([...shared, ...hooks[point].fields, 'made_up'])].filter((field) => !write.includes(field))
    const assigning = layer('assigning', point, (ctx, next) => {
      for (const field of fields) {
        const before = ctx[field]
        try {
          ;(ctx as Record<string, unknown>)[field] = 'x'
        } catch (error) {
          if (error instanceof TypeError && ctx[field] === before) refused.add(field)
        }
      }
      return next()
    })
    const outcome = await execute(mode, stage([assigning]))
    expectWhole(outcome)
    expect(outcome.result?.text).toBe('all done')
    expect([...refused]).toEqual(fields)
  })

  test.for(modes)('refuses values that a field cannot hold, and says so (%s)', async (mode) => {
    const wrong = [
      ['before_run', 'maxTurns', -1],
      ['before_turn', 'maxTurns', 'many'],
      ['before_llm_step', 'request', {}],
      ['around_llm_step', 'request', null],
      ['before_tool', 'args', 'text'],
      ['before_tool', 'args', ['a']],
      ['after_llm_step', 'step', {}],
      ['after_tool', 'result', 'text'],
      ['after_turn', 'result', null],
      ['after_run', 'result', undefined],
      ['around_run', 'signal', 5],
      ['around_tool', 'signal', {}],
      ['on_input', 'message', 'text'],
    ] as const
    for (const [point, field, value] of wrong) {
      const outcome = await execute(
        mode,
        stage([layer('culprit', point, (ctx, next) => (Object.assign(ctx, { [field]: value }), next()))]),
      )
      expect(outcome.error, `${point}.${field}`).toMatchObject({ code: 'hook_contract', middleware: 'culprit', point })
    }
  })
})

describe("the caller's metadata", () => {
  class Account {
    balance = 1
    history: string[] = []
  }

  test.for(modes)(
    'is handed out as a frozen copy; the object itself and class instances in it stay as they were (%s)',
    async (mode) => {
      const account = new Account()
      const metadata = { nested: { list: ['a'] }, account }
      const seen: unknown[] = []
      await execute(
        mode,
        stage([
          layer('reader', 'before_tool', (ctx, next) => {
            const given = ctx.metadata as typeof metadata
            seen.push(given)
            given.account.balance++
            given.account.history.push('used')
            expect(() => given.nested.list.push('b')).toThrow(TypeError)
            return next()
          }),
        ]),
        'go',
        { metadata },
      )
      expect(Object.isFrozen(metadata) || Object.isFrozen(metadata.nested) || Object.isFrozen(account)).toBe(false)
      metadata.nested.list.push('still mine')
      expect(account).toEqual(expect.objectContaining({ balance: 3, history: ['used', 'used'] }))
      expect(seen[0]).toBe(seen[1])
      expect(seen[0]).toMatchObject({ nested: { list: ['a'] } })
    },
  )

  test.for(modes)('as the run sees it does not change when the caller changes theirs (%s)', async (mode) => {
    const metadata = { role: 'guest' }
    const roles: unknown[] = []
    const agent = stage([
      layer('reader', ['before_run', 'after_run'], (ctx, next) => {
        metadata.role = 'admin'
        roles.push((ctx.metadata as typeof metadata).role)
        return next()
      }),
    ])
    await execute(mode, agent, 'go', { metadata })
    expect(roles).toEqual(['guest', 'guest'])
  })
})

describe('a ctx after its scope', () => {
  const key = stateKey('test/late', z.number().default(0))

  test.for(cases)('at %s drops what a straggler sets, emits or assigns (%s)', async ([point, mode]) => {
    const kept: Ctx<'before_tool'>[] = []
    const values: unknown[] = []
    const problems: unknown[] = []
    const straggle = (): void => {
      for (const ctx of kept) {
        try {
          ctx.set(key, 7)
          ctx.update(key, (value) => value + 1)
          ctx.emit('late')
          for (const field of hooks[point].write) Object.assign(ctx, { [field]: 'nonsense' })
          ctx.addContext?.('late note')
          void (ctx as unknown as Ctx<'around_tool'>).progress?.('late')
          values.push(ctx.get(key))
        } catch (error) {
          problems.push(error)
        }
      }
    }
    const leaving = layer('leaving', point, (ctx, next) => {
      const inner = next()
      void inner.then(
        () => setImmediate().then(() => kept.push(ctx as never)),
        () => {},
      )
      return inner
    })
    const later = layer('later', points, async (_ctx, next) => {
      straggle()
      await setImmediate()
      return next()
    })
    const outcome = await execute(mode, stage([later, leaving]))
    await setImmediate()
    await setImmediate()
    straggle()
    expect(problems).toEqual([])
    expect(new Set(values)).toEqual(new Set([0]))
    expectWhole(outcome)
    expect(outcome.result?.text).toBe('all done')
    expect(JSON.stringify(outcome)).not.toMatch(/late|nonsense/)
  })

  test.for(modes)('is closed as soon as its layer has settled, also while the chain goes on inward (%s)', async (mode) => {
    const kept: Ctx<'before_tool'>[] = []
    const outcome = await execute(
      mode,
      stage([
        layer('leaving', 'before_tool', (ctx) => (kept.push(ctx as never), allow())),
        layer('slow', 'before_tool', async (_ctx, next) => {
          await setImmediate()
          for (const ctx of kept) {
            ctx.addContext('late note')
            ctx.args = { path: 'late' }
            ctx.emit('late')
          }
          return next()
        }),
      ]),
    )
    expect(outcome.result?.text).toBe('all done')
    expect(JSON.stringify(outcome)).not.toContain('late')
  })

  test.for(modes)('asks no model (%s)', async (mode) => {
    const kept: Context[] = []
    await execute(mode, stage([layer('leaving', 'before_tool', (ctx, next) => (kept.push(ctx), next()))]))
    const messages: Message[] = [{ role: 'user', content: [{ type: 'text', text: 'hello?' }] }]
    await expect(kept[0]?.callModel({ messages })).rejects.toThrow(/after the layer had settled/)
    // Nobody has to listen for that.
    void kept[0]?.callModel({ messages })
    await setImmediate()
  })

  test.for(modes)('still reads: what it was about can be told later (%s)', async (mode) => {
    const kept: (Context & Record<string, unknown>)[] = []
    await execute(mode, stage([layer('leaving', 'before_tool', (ctx) => (kept.push(ctx), deny('no')))]))
    expect(kept[0]).toMatchObject({ point: 'before_tool', toolName: 'look', args: { path: 'a' }, turn: 0 })
  })
})
