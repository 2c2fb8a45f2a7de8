import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Agent, allow, ask, defineTool, deny, forTools, memorySession, replace_result, retry, stack, when } from '@koagent/core'
import type { JsonObject, LLMStep, Middleware, ModelPart, ToolResult } from '@koagent/core'
import { scripted } from '@koagent/core/scripted'
import { execute, expectWhole, modes } from '../testing/kit.ts'
import type { Mode } from '../testing/kit.ts'
import { layer, silent } from '../testing/stage.ts'

const toolSecret = 'TOOLSECRET'
const textSecret = 'TEXTSECRET'

const resultOf = (text: string): ToolResult => ({ content: [{ type: 'text', text }], isError: false })
const stepOf = (text: string): LLMStep => ({
  message: { role: 'assistant', content: [{ type: 'text', text }] },
  toolCalls: [],
  finishReason: 'stop',
  usage: { inputTokens: 0, outputTokens: 0 },
})

/** What the layers of one run saw and let through. */
interface Log {
  /** The arguments that each policy was last asked about, and what it said. */
  readonly judged: Map<string, { readonly args: JsonObject; readonly denied: boolean }>
  readonly executed: JsonObject[]
}

type Make = (name: string, log: Log) => Middleware

const redacted = (result: ToolResult): ToolResult => ({
  ...result,
  content: result.content.map((part) =>
    part.type === 'text' ? { ...part, text: part.text.replaceAll(toolSecret, '[x]') } : part,
  ),
})

/** What a policy wants kept: its layers. */
const policies: Record<string, Make> = {
  denier: (name, log) => ({
    name,
    on_permission(ctx, next) {
      const denied = String(ctx.args.path).includes('forbidden')
      log.judged.set(name, { args: ctx.args, denied })
      return denied ? deny(`by ${name}`) : next()
    },
  }),
  'tool redactor': (name) => ({ name, after_tool: async (_ctx, next) => redacted(await next()) }),
  'text redactor': (name) => ({
    name,
    around_llm_step(ctx, next) {
      ctx.transform(async function* redact(parts) {
        let text = ''
        // Held back to the end: a secret may come in pieces.
        for await (const part of parts) {
          if (part.type === 'text_delta') text += part.text
          else if (part.type === 'finish') {
            if (text) yield { type: 'text_delta', text: text.replaceAll(textSecret, '[y]') }
            yield part
          } else yield part
        }
      })
      return next()
    },
  }),
}

const boom = new Error('of a layer')
const throwing = (name: string, at: Parameters<typeof layer>[1], errors: 'log' | 'ignore' | 'raise', after = false): Middleware =>
  layer(
    name,
    at,
    async (_ctx, next) => {
      if (after) await next()
      throw boom
    },
    { errors },
  )

/** What may get in a policy's way. */
const others: Record<string, Make> = {
  allower: (name) => ({
    name,
    on_permission: () => allow(),
    before_tool: () => allow(),
    on_permission_request: () => allow(),
  }),
  'late allower': (name) => ({ name, on_permission: async (_ctx, next) => (await next(), allow()) }),
  asker: (name) => ({ name, before_tool: () => ask('sure?') }),
  'asker at permission': (name) => ({ name, on_permission: () => ask('sure?') }),
  editor: (name) => ({ name, on_permission_request: () => allow({ args: { path: 'forbidden/edited' } }) }),
  'bad rewriter': (name) => ({ name, before_tool: () => allow({ args: { path: 'forbidden' } }) }),
  'good rewriter': (name) => ({ name, before_tool: (ctx, next) => ((ctx.args = { path: 'fine' }), next()) }),
  replacer: (name) => ({ name, before_tool: () => replace_result(`${toolSecret} of ${name}`) }),
  'tool cache': (name) => ({ name, around_tool: () => resultOf(`${toolSecret} of ${name}`) }),
  'result replacer': (name) => ({ name, after_tool: () => resultOf(`${toolSecret} of ${name}`) }),
  'result assigner': (name) => ({
    name,
    after_tool: (ctx, next) => ((ctx.result = resultOf(`${toolSecret} of ${name}`)), next()),
  }),
  'answer cache': (name) => ({ name, around_llm_step: () => stepOf(`${textSecret} of ${name}`) }),
  'answer replacer': (name) => ({ name, before_llm_step: () => replace_result(`${textSecret} of ${name}`) }),
  'answerer for failures': (name) => ({ name, on_error: () => replace_result(`${toolSecret} of ${name}`) }),
  retrier: (name) => ({ name, on_error: (ctx, next) => (ctx.attempt < 3 ? retry() : next()) }),
  'retrier of results': (name) => ({
    name,
    after_tool: async (_ctx, next) => {
      await next()
      return retry()
    },
  }),
  'lenient before': (name) =>
    throwing(name, ['before_tool', 'after_tool', 'around_tool', 'around_llm_step', 'after_llm_step'], 'log'),
  'lenient after': (name) =>
    throwing(name, ['before_tool', 'after_tool', 'around_tool', 'around_llm_step', 'after_llm_step', 'on_event'], 'ignore', true),
  'strict at results': (name) => throwing(name, 'after_tool', 'raise'),
  'strict at results, late': (name) => throwing(name, 'after_tool', 'raise', true),
  'strict at events': (name) => throwing(name, 'on_event', 'raise'),
  'strict at calls': (name) => throwing(name, 'around_tool', 'raise', true),
}

const wrappers: readonly ((m: Middleware) => Middleware)[] = [
  (m) => m,
  (m) => stack('s', [m]),
  (m) => when(() => true, m),
  (m) =>
    when(() => {
      throw new Error('cannot say')
    }, m),
  (m) => forTools(/rea/g, m),
  (m) => forTools(['read', 'write'], stack('s', [when(() => true, m)])),
]

interface Member {
  readonly what: string
  readonly wrapped: number
}

const members = fc.array(
  fc.record<Member>({
    what: fc.constantFrom(...Object.keys(policies), ...Object.keys(others)),
    wrapped: fc.nat(wrappers.length - 1),
  }),
  { minLength: 1, maxLength: 7 },
)

/** One run of an agent whose model and tool tell secrets; the last layers are the run's own. */
async function tell(mode: Mode, list: readonly Member[], ofRun: number, path: string, failing: boolean) {
  const log: Log = { judged: new Map(), executed: [] }
  const read = defineTool({
    name: 'read',
    description: 'Reads.',
    input: { type: 'object', properties: { path: { type: 'string' } } },
    execute: (args) => {
      log.executed.push(args)
      if (failing) throw new Error(`${toolSecret} cannot be read`)
      return `contents: ${toolSecret}`
    },
  })
  const said: readonly ModelPart[] = [
    { type: 'text_delta', text: 'It is TEXT' },
    { type: 'text_delta', text: 'SECRET, they say' },
  ]
  const model = scripted(
    Array.from({ length: 12 }, (_, i) => ({ messages }) => {
      if (messages.some((message) => message.role === 'tool')) return { parts: [...said, { type: 'finish', reason: 'stop' }] }
      const call: ModelPart = { type: 'tool_call', callId: `c${i}`, toolName: 'read', args: { path } }
      return { parts: [...said, call, { type: 'finish', reason: 'tool_calls' }] }
    }),
  )
  const layers = list.map(({ what, wrapped }, i) => wrappers[wrapped]!((policies[what] ?? others[what]!)(`${what} ${i}`, log)))
  const inner = Math.max(0, layers.length - ofRun)
  const agent = new Agent({ model, tools: [read], middleware: layers.slice(0, inner), logger: silent })
  const session = memorySession()
  const outcome = await execute(mode, agent, 'go', { session, middleware: layers.slice(inner) })
  expectWhole(outcome, session.messages)
  const said2 = outcome.events.map((event) => (event.type === 'text_delta' ? event.text : '')).join('')
  const visible = JSON.stringify([outcome.events, outcome.result, session.messages, model.calls.slice(1)]) + said2
  return { ...outcome, log, visible }
}

// Whole runs by the hundred: how long they take depends on what else the machine does.
describe('no stack of layers, in any order, wrapped in any way, of the agent or of the run', { timeout: 60_000 }, () => {
  const input = [members, fc.nat(3), fc.constantFrom('a', 'forbidden'), fc.boolean()] as const

  test.for(modes)('gets a call past a policy: it judges what is executed, and its deny holds (%s)', async (mode) => {
    await fc.assert(
      fc.asyncProperty(...input, async (list, ofRun, path, failing) => {
        const { events, log } = await tell(mode, [...list, { what: 'denier', wrapped: 0 }], ofRun, path, failing)
        for (const args of log.executed) {
          expect(args.path).not.toContain('forbidden')
          for (const verdict of log.judged.values()) expect(verdict).toEqual({ args, denied: false })
        }
        const denied = [...log.judged.values()].some((verdict) => verdict.denied)
        if (denied) {
          expect(log.executed).toEqual([])
          for (const event of events) if (event.type === 'tool_result') expect(event.status).toMatch(/denied|blocked|error/)
        }
      }),
      { numRuns: 60 },
    )
  })

  test.for(modes)('gets a result past a redactor at after_tool (%s)', async (mode) => {
    await fc.assert(
      fc.asyncProperty(...input, fc.nat(7), async (list, ofRun, path, failing, place) => {
        const stacked = [
          ...list.slice(0, place),
          { what: 'tool redactor', wrapped: place % wrappers.length },
          ...list.slice(place),
        ]
        const { visible } = await tell(mode, stacked, ofRun, path, failing)
        expect(visible).not.toContain(toolSecret)
      }),
      { numRuns: 60 },
    )
  })

  test.for(modes)('gets a text past a transform that stands outside whoever answers (%s)', async (mode) => {
    await fc.assert(
      fc.asyncProperty(...input, fc.nat(7), async (list, ofRun, path, failing, place) => {
        // Leaving next() uncalled skips what is inside: a redactor further in never hears of such an answer.
        const cache = list.findIndex(({ what }) => what === 'answer cache')
        const at = cache < 0 ? place : Math.min(place, cache)
        const stacked = [...list.slice(0, at), { what: 'text redactor', wrapped: place % 4 }, ...list.slice(at)]
        const { visible } = await tell(mode, stacked, ofRun, path, failing)
        expect(visible).not.toContain(textSecret)
      }),
      { numRuns: 60 },
    )
  })
})
