import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { allow, ask, deny, replace_result, RunController, stop } from '@koagent/core'
import type { Middleware, ToolCtx } from '@koagent/core'
import { callTools, tool } from '../testing/calls.ts'
import type { Called } from '../testing/calls.ts'
import { modes } from '../testing/kit.ts'

const plans = {
  mode: fc.constantFrom(...modes),
  calls: fc.array(
    fc.record({
      name: fc.constantFrom('work', 'alone', 'steps', 'nope'),
      ends: fc.constantFrom('well', 'badly'),
      gate: fc.constantFrom('allow', 'deny', 'block', 'replace', 'ask'),
    }),
    { minLength: 1, maxLength: 6 },
  ),
  toolConcurrency: fc.constantFrom(1, 2, Infinity),
  /** Decides who of those that wait goes on next. */
  scheduler: fc.scheduler(),
}
const peaceful = fc.record(plans)
type Plan = typeof peaceful extends fc.Arbitrary<infer T> ? T : never

interface Played {
  readonly called: Called
  /** Call ids in the order in which their tools started. */
  readonly ran: readonly string[]
  /** Those that had started when the accident came. */
  readonly early: readonly string[] | undefined
  /** Rules of the batch that were broken. */
  readonly broken: readonly string[]
}

interface Accident {
  /** The run is cancelled at this step of its tools and questions. */
  readonly cancelAt?: number
  readonly failing?: string
  readonly stopping?: string
}

async function play(
  { mode, calls, toolConcurrency, scheduler }: Plan,
  { cancelAt, failing, stopping }: Accident = {},
): Promise<Played> {
  const ran: string[] = []
  const broken: string[] = []
  const running = new Set<string>()
  const controller = new RunController()
  let early: readonly string[] | undefined
  let steps = 0
  const plan = (callId: string) => calls[Number(callId.slice(1))]
  const step = async (callId: string): Promise<void> => {
    if (steps++ === cancelAt) {
      controller.cancel()
      early = [...ran]
    }
    await scheduler.schedule(Promise.resolve(), callId)
  }
  const begin = ({ callId }: ToolCtx): void => {
    ran.push(callId)
    running.add(callId)
    if (running.size > toolConcurrency) broken.push(`${running.size} at a time`)
    if (running.size > 1 && [...running].some((id) => plan(id)?.name === 'alone'))
      broken.push(`not alone: ${[...running].join()}`)
  }
  const end = ({ callId }: ToolCtx): string => {
    running.delete(callId)
    if (plan(callId)?.ends === 'badly') throw new Error(`${callId} failed`)
    return `${callId} ran`
  }
  const work = async (_: unknown, ctx: ToolCtx): Promise<string> => {
    begin(ctx)
    await step(ctx.callId)
    await ctx.progress('half')
    await step(ctx.callId)
    return end(ctx)
  }
  const tools = [
    tool('work', work),
    tool('alone', work, { parallel: false }),
    tool('steps', async function* (_, ctx) {
      begin(ctx)
      for (const n of [1, 2]) {
        await step(ctx.callId)
        yield n
      }
      return end(ctx)
    }),
  ]
  const gates: Middleware = {
    name: 'gates',
    on_permission(ctx, next) {
      const gate = plan(ctx.toolCall.callId)?.gate
      return gate === 'deny' ? deny('no') : gate === 'ask' ? ask('?') : next()
    },
    before_tool(ctx, next) {
      const gate = plan(ctx.toolCall.callId)?.gate
      if (ctx.toolCall.callId === stopping) return stop('over')
      return gate === 'block' ? deny('no') : gate === 'replace' ? replace_result('instead') : next()
    },
    async on_permission_request(ctx) {
      await step(ctx.toolCall.callId)
      return allow()
    },
    async after_tool(ctx, next) {
      const result = await next()
      if (ctx.toolCall.callId !== failing) return result
      early = [...ran]
      throw new Error('check failed')
    },
  }
  const run = callTools(mode, {
    calls: calls.map(({ name }) => name),
    tools,
    middleware: [gates],
    agent: { toolConcurrency },
    run: { controller },
  })
  return { called: await scheduler.waitFor(run), ran, early, broken }
}

function expectOneResultEach({ called, ran, broken }: Played, { calls }: Plan): void {
  const ids = calls.map((_, n) => `c${n}`)
  expect(broken).toEqual([])
  expect(called.results.map(({ callId }) => callId)).toEqual(ids)
  expect(called.told.toSorted()).toEqual(ids)
  expect(new Set(ran).size).toBe(ran.length)
  expect(called.of('permission_resolved')).toHaveLength(called.of('permission_request').length)
}

describe('whatever the order in which parallel calls end', () => {
  test('results stand in call order, one a call, and each call ran once if it was let through', async () => {
    await fc.assert(
      fc.asyncProperty(peaceful, async (plan) => {
        const played = await play(plan)
        const { called, ran } = played
        expectOneResultEach(played, plan)
        expect(called.result?.status).toBe('completed')
        for (const [n, { name, ends, gate }] of plan.calls.entries()) {
          const goes = name !== 'nope' && (gate === 'allow' || gate === 'ask')
          expect(ran.includes(`c${n}`)).toBe(goes)
          const refused = { deny: 'denied', block: 'blocked', replace: 'replaced', allow: undefined, ask: undefined }[gate]
          expect(called.status[`c${n}`]).toBe(name === 'nope' ? 'invalid' : (refused ?? (ends === 'well' ? 'ok' : 'error')))
          if (goes) expect(called.texts[n]).toBe(`c${n} ${ends === 'well' ? 'ran' : 'failed'}`)
        }
      }),
      { numRuns: 50 },
    )
  }, 30_000)
})

describe('whatever happens while parallel calls run', () => {
  const some = fc.nat({ max: 5 }).map((n) => `c${n}`)

  test('after a cancel no call starts, and each has one result', async () => {
    await fc.assert(
      fc.asyncProperty(peaceful, fc.nat({ max: 10 }), async (plan, cancelAt) => {
        const played = await play(plan, { cancelAt })
        expectOneResultEach(played, plan)
        const { called, ran, early } = played
        if (early) {
          expect(called.error).toMatchObject({ name: 'AbortError' })
          expect(ran).toEqual(early)
        } else expect(called.result?.status).toBe('completed')
      }),
      { numRuns: 50 },
    )
  }, 30_000)

  test('after a failure of after_tool no call starts, those that run end as they would, and each has one result', async () => {
    await fc.assert(
      fc.asyncProperty(peaceful, some, async (plan, failing) => {
        const played = await play(plan, { failing })
        expectOneResultEach(played, plan)
        const { called, ran, early } = played
        if (!early) {
          expect(called.result?.status).toBe('completed')
          return
        }
        expect(called.error).toMatchObject({ message: 'check failed' })
        expect(called.status[failing]).toBe('withheld')
        expect(ran).toEqual(early)
        for (const id of ran.filter((callId) => callId !== failing)) expect(['ok', 'error']).toContain(called.status[id])
      }),
      { numRuns: 50 },
    )
  }, 30_000)

  test('a stop lets earlier calls end, answers the later ones, and no model call follows', async () => {
    await fc.assert(
      fc.asyncProperty(peaceful, some, async (plan, stopping) => {
        const played = await play(plan, { stopping })
        expectOneResultEach(played, plan)
        const { called, ran } = played
        const index = Number(stopping.slice(1))
        const call = plan.calls[index]
        const reached = call !== undefined && call.name !== 'nope' && call.gate !== 'deny'
        expect(called.result?.status).toBe(reached ? 'stopped' : 'completed')
        expect(called.model.calls).toHaveLength(reached ? 1 : 2)
        if (!reached) return
        expect(ran.every((id) => Number(id.slice(1)) < index)).toBe(true)
        for (const text of called.texts.slice(index)) expect(text).toBe('over')
      }),
      { numRuns: 50 },
    )
  }, 30_000)
})
