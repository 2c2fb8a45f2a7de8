import { describe, expect, test } from 'vitest'
import { hooks, points } from './hooks.ts'
import type { HookPoint } from './hooks.ts'
import { execute, expectWhole, modes, recorder } from './testing/kit.ts'
import { stage } from './testing/stage.ts'

describe('the table of hook points', () => {
  test.for(points)('%s: what may be written is a field, and only gates, after points and events take decisions', (point) => {
    const { fields, write, kind, decisions, accepts }: HookPoint = hooks[point]
    for (const field of write) expect(fields).toContain(field)
    expect(new Set(decisions).size).toBe(decisions.length)
    if (kind === 'around') expect(decisions).toEqual([])
    expect(accepts !== undefined).toBe(kind === 'around' || kind === 'after')
  })

  test.for(modes)('every point is reached, and every layer entered is left (%s)', async (mode) => {
    const trace: string[] = []
    const outcome = await execute(mode, stage([recorder('a', trace), recorder('b', trace)]))
    expectWhole(outcome)
    expect(outcome.result?.status).toBe('completed')
    for (const point of points.filter((name) => name !== 'on_event')) {
      expect(trace).toContain(`>a:${point}`)
      expect(trace.filter((entry) => entry === `>b:${point}`)).toHaveLength(trace.filter((e) => e === `<b:${point}`).length)
    }
  })

  test('streaming or not, layers are entered and left in one and the same order', async () => {
    const traces = await Promise.all(
      modes.map(async (mode) => {
        const trace: string[] = []
        await execute(mode, stage([recorder('a', trace), recorder('b', trace)]))
        return trace
      }),
    )
    expect(traces[0]).toEqual(traces[1])
    expect(traces[0]?.filter((entry) => entry === '>a:before_llm_step')).toHaveLength(3)
    expect(traces[0]?.at(-1)).toBe('<a:on_session_end')
    expect(traces[0]?.findLast((entry) => !entry.includes('on_session_end'))).toBe('<a:after_run')
  })
})
