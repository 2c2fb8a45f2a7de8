import { describe, expect, test } from 'vitest'
import { allow, ask, continue_run, deny, drop, raise, replace_result, retry, stop } from '@koagent/core'
import { isDecision } from './decision.ts'
import { hooks, points } from './hooks.ts'
import { execute, modes } from './testing/kit.ts'
import { layer, stage } from './testing/stage.ts'

const error = new Error('no')

describe('a decision', () => {
  const made = [
    [allow(), { kind: 'allow' }],
    [allow({ args: { a: 1 } }), { kind: 'allow', args: { a: 1 } }],
    [allow({ context: 'note' }), { kind: 'allow', context: 'note' }],
    [ask('why'), { kind: 'ask', reason: 'why' }],
    [deny('why'), { kind: 'deny', reason: 'why' }],
    [replace_result({ n: 1 }), { kind: 'replace_result', result: { n: 1 } }],
    [replace_result(undefined), { kind: 'replace_result', result: undefined }],
    [retry(), { kind: 'retry' }],
    [retry({ delayMs: 5, reason: 'why' }), { kind: 'retry', delayMs: 5, reason: 'why' }],
    [stop('why'), { kind: 'stop', reason: 'why' }],
    [stop('why', null), { kind: 'stop', reason: 'why', result: null }],
    [continue_run('go on'), { kind: 'continue_run', message: 'go on' }],
    [raise(error), { kind: 'raise', error }],
    [drop(), { kind: 'drop' }],
  ] as const

  test.for(made)('is plain, tagged and frozen: %o', ([decision, plain]) => {
    expect(decision).toEqual(plain)
    expect(Object.keys(decision)).toEqual(Object.keys(plain))
    expect(Object.isFrozen(decision)).toBe(true)
    expect(isDecision(decision)).toBe(true)
  })

  test.for([undefined, null, 'deny', 5, {}, [], { kind: 5 }, () => {}])('%o is none', (value) => {
    expect(isDecision(value)).toBe(false)
  })

  test('of every kind that a point takes has its maker', () => {
    const kinds = new Set(points.flatMap((point) => hooks[point].decisions as readonly string[]))
    expect(kinds).toEqual(new Set(made.map(([{ kind }]) => kind)))
  })

  test.for(modes)('is recognised by its structure, whoever made it (%s)', async (mode) => {
    const foreign = layer('foreign', 'on_permission', () => structuredClone(deny('no')))
    const { events } = await execute(mode, stage([foreign]))
    expect(events.find((event) => event.type === 'tool_result')).toMatchObject({ status: 'denied', by: 'foreign' })
  })
})
