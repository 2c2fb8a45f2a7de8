import { getEventListeners } from 'node:events'
import { Agent, defineTool, deriveSignal } from '@koagent/core'
import type { Middleware, Model, ModelPart } from '@koagent/core'
import { heapAfterGc } from './heap.ts'

/**
 * 10,000 runs one after the other that are given the same outside signal, and end in four ways. The heap is looked at after each half: what
 * compiled code takes comes to rest within the first, what leaks grows in both.
 */
export async function signal(shrink: number): Promise<Record<string, number>> {
  const outside = new AbortController().signal
  const half = Math.ceil(5_000 / shrink)
  const begin = await heapAfterGc()
  await several(half, outside)
  const middle = await heapAfterGc()
  await several(half, outside)
  const end = await heapAfterGc()
  return {
    runs: half * 2,
    firstHalfMiB: middle - begin,
    secondHalfMiB: end - middle,
    listeners: getEventListeners(outside, 'abort').length,
    dependants: dependantsOf(outside),
  }
}

async function several(runs: number, outside: AbortSignal): Promise<void> {
  for (let i = 0; i < runs; i++) await endings[i % endings.length]?.(outside)
}

const look = defineTool({
  name: 'look',
  description: 'Looks at its signal.',
  input: { type: 'object' },
  execute: (_, { signal }) => String(signal.aborted),
})

/** Makes a signal of the step, as a time limit does. */
const limited: Middleware = {
  name: 'limited',
  async around_llm_step(ctx, next) {
    const limit = deriveSignal(ctx.signal, { timeoutMs: 60_000 })
    ctx.signal = limit.signal
    try {
      return await next()
    } finally {
      limit.dispose()
    }
  },
}

const agent = new Agent({ model: looking(), tools: [look], middleware: [limited] })
const silent = { debug() {}, info() {}, warn() {}, error() {} }
const failing = new Agent({ model: looking(new Error('the model is not there')), logger: silent })

const endings: readonly ((signal: AbortSignal) => Promise<unknown>)[] = [
  (signal) => agent.run('go', { signal }),
  async (signal) => {
    for await (const event of agent.stream('go', { signal })) if (event.type === 'error') throw new Error(event.error.message)
  },
  async (signal) => {
    for await (const event of agent.stream('go', { signal })) if (event.type === 'tool_call_begin') break
  },
  (signal) => failing.run('go', { signal }).catch(() => {}),
]

function looking(error?: Error): Model {
  return {
    provider: 'bench',
    id: 'looking',
    async *stream({ messages }, { signal }): AsyncGenerator<ModelPart> {
      signal.throwIfAborted()
      if (error) throw error
      const called = messages.length > 1
      if (called) yield { type: 'text_delta', text: 'done' }
      else yield { type: 'tool_call', callId: 'call', toolName: look.name, args: '{}' }
      yield { type: 'finish', reason: called ? 'stop' : 'tool_calls' }
    },
  }
}

/** Node keeps the signals that `AbortSignal.any` made from this one in a set that only its inspector shows. */
function dependantsOf(signal: AbortSignal): number {
  const key = Object.getOwnPropertySymbols(signal).find(({ description }) => description === 'kDependantSignals')
  const set: unknown = key && Reflect.get(signal, key)
  return set instanceof Set ? set.size : 0
}
