import { describe, expect, test } from 'vitest'
import { allow, deny, forTools, onEvents, replace_result, stack, when } from '@koagent/core'
import type { AgentEvent, Middleware, Point, ToolFilter, WhenContext } from '@koagent/core'
import { points } from '../hooks.ts'
import { execute, expectWhole, modes, recorder } from '../testing/kit.ts'
import { comparable, layer, stage } from '../testing/stage.ts'

const always = (): boolean => true
const never = (): boolean => false
const toolPoints: readonly Point[] = ['on_permission', 'before_tool', 'around_tool', 'after_tool']

describe('stack', () => {
  test.for(modes)('is its members in their order, at every depth (%s)', async (mode) => {
    const traces = await Promise.all(
      [
        (list: Middleware[]) => list,
        (list: Middleware[]) => [stack('all', list)],
        ([a, b, c]: Middleware[]) => [stack('outer', [a!, stack('inner', [b!]), stack('empty', [])]), stack('last', [c!])],
        ([a, b, c]: Middleware[]) => [stack('s', [stack('s', [stack('s', [a!, b!, c!])])])],
      ].map(async (arranged) => {
        const trace: string[] = []
        const list = ['a', 'b', 'c'].map((name) => recorder(name, trace))
        const outcome = await execute(mode, stage(arranged(list)))
        expectWhole(outcome)
        return [trace, comparable(outcome)]
      }),
    )
    for (const trace of traces) expect(trace).toEqual(traces[0])
  })

  test.for(modes)('members keep their names and policies (%s)', async (mode) => {
    const error = new Error('no')
    const failing = (name: string, errors: 'log' | 'raise'): Middleware =>
      layer(
        name,
        'before_turn',
        () => {
          throw error
        },
        { errors },
      )
    const lenient = await execute(mode, stage([stack('pack', [failing('lenient', 'log')])]))
    expect(lenient.result?.status).toBe('completed')
    expect(lenient.events.find((event) => event.type === 'hook_error')).toMatchObject({ middleware: 'lenient' })
    const strict = await execute(mode, stage([stack('pack', [failing('lenient', 'log'), failing('strict', 'raise')])]))
    expect(strict.error).toBe(error)
  })
})

describe('when', () => {
  test.for(modes)('leaves a layer out where the predicate says no, everywhere (%s)', async (mode) => {
    const trace: string[] = []
    const plain = await execute(mode, stage())
    const outcome = await execute(mode, stage([when(never, recorder('off', trace)), when(always, recorder('on', trace))]))
    expect(trace.filter((entry) => entry.includes('off'))).toEqual([])
    expect(new Set(trace.map((entry) => entry.slice(4)))).toEqual(new Set(points.filter((point) => point !== 'on_event')))
    expect(comparable(outcome)).toEqual(comparable(plain))
  })

  test.for(modes)('asks once a run, turn, step and call, and keeps the answer (%s)', async (mode) => {
    const asked: string[] = []
    const predicate = ({ turn, toolName }: WhenContext): boolean => (asked.push(`${turn}:${toolName ?? ''}`), true)
    const observing: Middleware = { ...recorder('on', []), on_event: (_ctx, next) => next() }
    await execute(mode, stage([when(predicate, observing)]))
    // A run; three turns, each with a step; the calls of two of them.
    expect(asked.toSorted()).toEqual(['0:', '0:', '0:', '0:look', '1:', '1:', '1:broken', '2:', '2:'])
  })

  test.for(modes)('keeps an answer that would be another by now: what began is ended (%s)', async (mode) => {
    const trace: string[] = []
    let flip = false
    const flipping = layer('flipping', ['before_run', 'before_tool', 'before_llm_step'], (_ctx, next) => ((flip = !flip), next()))
    const outcome = await execute(mode, stage([flipping, when(() => flip, recorder('x', trace))]))
    expectWhole(outcome)
    const count = (entry: string): number => trace.filter((one) => one === entry).length
    expect(count('>x:before_run')).toBe(count('>x:after_run'))
    expect(count('>x:before_turn')).toBe(count('>x:after_turn'))
    expect(count('>x:before_llm_step')).toBe(count('>x:around_llm_step'))
    expect(count('>x:before_tool')).toBe(count('>x:after_tool'))
  })

  test.for(modes)('is active where its predicate throws (%s)', async (mode) => {
    const throwing = (): boolean => {
      throw new Error('cannot say')
    }
    const denier = layer('denier', 'on_permission', () => deny('no'))
    const outcome = await execute(mode, stage([when(throwing, denier)]))
    expectWhole(outcome)
    expect(outcome.events.flatMap((event) => (event.type === 'tool_result' ? event.status : []))).toEqual(['denied', 'denied'])
  })

  test.for(modes)('over a stack asks once for all members; nested predicates must all hold (%s)', async (mode) => {
    let asked = 0
    const trace: string[] = []
    const counting = (): boolean => (asked++, true)
    const list = ['a', 'b'].map((name) => layer(name, 'before_run', (_ctx, next) => (trace.push(name), next())))
    await execute(mode, stage([when(counting, stack('pack', list))]))
    expect([asked, trace]).toEqual([1, ['a', 'b']])
    trace.length = 0
    const one = layer('c', 'before_run', (_ctx, next) => (trace.push('c'), next()))
    for (const outer of [always, never]) {
      for (const inner of [always, never]) {
        for (const wrapped of [when(outer, when(inner, one)), when(outer, stack('s', [when(inner, one)]))])
          await execute(mode, stage([wrapped]))
      }
    }
    expect(trace).toEqual(['c', 'c'])
  })

  test.for(modes)('offers the tools that a middleware brings only while it is active (%s)', async (mode) => {
    const offered: string[][] = []
    const { look: extra } = await import('../testing/stage.ts')
    const bringing: Middleware = { name: 'bringing', tools: [{ ...extra, name: 'extra' }] }
    const listening = layer('listening', 'around_llm_step', (ctx, next) => {
      offered.push((ctx.request as { tools: { name: string }[] }).tools.map((tool) => tool.name))
      return next()
    })
    await execute(mode, stage([when(({ turn }) => turn === 1, bringing), listening]))
    expect(offered).toEqual([
      ['look', 'broken'],
      ['look', 'broken', 'extra'],
      ['look', 'broken'],
    ])
  })
})

describe('forTools', () => {
  const filters: readonly (readonly [ToolFilter, readonly string[]])[] = [
    ['look', ['look']],
    [['look'], ['look']],
    [
      ['look', 'broken', 'other'],
      ['look', 'broken'],
    ],
    [[], []],
    ['loo', []],
    [/^lo/, ['look']],
    [/o/g, ['look', 'broken']],
    [/o/y, ['look', 'broken']],
    [/LOOK/i, ['look']],
    [/nothing/, []],
  ]

  test.for(filters.flatMap(([filter, tools]) => modes.map((mode) => [String(filter), mode, filter, tools] as const)))(
    '%s shows the hooks of calls only those (%s)',
    async ([, mode, filter, tools]) => {
      const seen: string[] = []
      const filtered = layer(
        'filtered',
        [...toolPoints, 'on_error'],
        (ctx, next) => (seen.push(`${ctx.point}:${String(ctx.toolName)}`), next()),
      )
      await execute(mode, stage([forTools(filter, filtered)]))
      for (const point of toolPoints) {
        expect(seen.filter((entry) => entry.startsWith(`${point}:`))).toEqual(tools.map((tool) => `${point}:${tool}`))
      }
      expect(seen.includes('on_error:broken')).toBe(tools.includes('broken'))
    },
  )

  test.for(modes)(
    'shows the events of calls only those, pieces of arguments too, and all other hooks and events whole (%s)',
    async (mode) => {
      const [all, some]: [AgentEvent[], AgentEvent[]] = [[], []]
      const listener = (name: string, into: AgentEvent[]): Middleware => ({
        name,
        on_event: (ctx, next) => (into.push(ctx.event), next()),
      })
      const trace: string[] = []
      const everything: string[] = []
      await execute(
        mode,
        stage([
          forTools('look', recorder('some', trace)),
          recorder('all', everything),
          listener('all-events', all),
          forTools('look', listener('some-events', some)),
        ]),
      )
      const toolOf = (event: AgentEvent): unknown => ('toolName' in event ? event.toolName : 'look')
      expect(some).toEqual(all.filter((event) => toolOf(event) === 'look'))
      expect(some.length).toBeLessThan(all.length)
      expect(some.some((event) => event.type === 'tool_args_delta')).toBe(true)
      const others = (entries: readonly string[]): string[] =>
        entries
          .map((entry) => entry.slice(1).split(':')[1]!)
          .filter((point) => ![...toolPoints, 'on_error', 'on_permission_request'].includes(point as Point))
      expect(others(trace)).toEqual(others(everything))
    },
  )

  test.for(modes)('goes with stack, when and another forTools: all of them narrow (%s)', async (mode) => {
    const seen: string[] = []
    const hook = (name: string): Middleware =>
      layer(name, 'before_tool', (ctx, next) => (seen.push(`${name}:${String(ctx.toolName)}`), next()))
    await execute(
      mode,
      stage([
        forTools(['look', 'broken'], stack('pack', [forTools('broken', hook('a')), hook('b')])),
        when(({ toolName }) => toolName !== 'broken', forTools(/./, hook('c'))),
        forTools(
          /o/,
          when(({ toolName }) => toolName === 'broken', hook('d')),
        ),
        forTools('look', forTools('broken', hook('e'))),
      ]),
    )
    expect(seen.toSorted()).toEqual(['a:broken', 'b:broken', 'b:look', 'c:look', 'd:broken'])
  })
})

describe('wrappers', () => {
  test.for(modes)('never relax: what others refuse stays refused (%s)', async (mode) => {
    const denier = layer('denier', 'on_permission', () => deny('no'))
    for (const wrapped of [when(always, denier), forTools(/./, denier), stack('s', [denier])]) {
      for (const lax of [
        when(
          always,
          layer('lax', toolPoints, (ctx, next) =>
            ctx.point === 'before_tool' ? replace_result('x') : ctx.point === 'on_permission' ? allow() : next(),
          ),
        ),
      ]) {
        for (const layers of [[lax, wrapped], [wrapped, lax], [stack('both', [lax, wrapped])]]) {
          const outcome = await execute(mode, stage(layers))
          expectWhole(outcome)
          const statuses = outcome.events.flatMap((event) => (event.type === 'tool_result' ? event.status : []))
          expect(statuses).toEqual(['denied', 'denied'])
        }
      }
    }
  })

  test.for(modes)('keep an on_event subscription and its right to rewrite (%s)', async (mode) => {
    const seen: string[] = []
    const listener: Middleware = {
      name: 'listener',
      on_event: onEvents(['tool_result'], (event) => ({ ...event, content: [] }), { rewrite: true }),
    }
    const spy: Middleware = {
      name: 'spy',
      on_event: onEvents(['tool_result'], (event) => void seen.push(`${event.toolName}:${event.content.length}`)),
    }
    await execute(mode, stage([forTools('look', when(always, stack('s', [listener]))), spy]))
    expect(seen).toEqual(['look:0', 'broken:1'])
  })
})
