import { Agent, defineTool, hooks, onEvents } from '@koagent/core'
import type { Message, Middleware, Model, ModelPart } from '@koagent/core'
import { z } from 'zod'
import { delta, fiveMiddlewares, noMiddleware, otherEvents, times, transforms } from './contender.ts'
import type { Contender, Stream } from './contender.ts'
import { additionTexts, answer, toolDescription, toolName, Witness } from './task.ts'

const usage: ModelPart = { type: 'usage', usage: { inputTokens: 10, outputTokens: 5 } }

/** This package's own. */
export const koagent: Contender = {
  run(middlewares) {
    const witness = new Witness()
    const add = defineTool({
      name: toolName,
      description: toolDescription,
      input: z.object({ a: z.number(), b: z.number() }),
      execute: (input) => witness.add(input),
    })
    const agent = new Agent({ model: addingModel(witness), tools: [add], middleware: times(middlewares, everywhere) })
    return async () => witness.proof((await agent.run(witness.begin())).text)
  },

  streams: (deltas) => ({
    [noMiddleware]: () => streaming(deltas, []),
    [fiveMiddlewares]: () => streaming(deltas, times(5, everywhere)),
    [transforms(1)]: () => streaming(deltas, times(1, transforming)),
    [transforms(5)]: () => streaming(deltas, times(5, transforming)),
    [otherEvents]: () => streaming(deltas, times(5, watching)),
  }),
}

/** A layer that does nothing, at every point of the table. */
export function everywhere(index: number): Middleware {
  const noop = (_: unknown, next: () => unknown): unknown => next()
  return { name: `noop-${index}`, ...Object.fromEntries(Object.keys(hooks).map((point) => [point, noop])) }
}

/** Rewrites the stream into itself. */
function transforming(index: number): Middleware {
  return {
    name: `transform-${index}`,
    around_llm_step(ctx, next) {
      ctx.transform(async function* same(parts) {
        yield* parts
      })
      return next()
    },
  }
}

/** Asks for events, but not for deltas. */
function watching(index: number): Middleware {
  return { name: `watch-${index}`, on_event: onEvents(['tool_result'], () => {}) }
}

function streaming(deltas: number, middleware: readonly Middleware[]): Stream {
  const agent = new Agent({ model: talkingModel(deltas), middleware })
  return async () => {
    let count = 0
    for await (const event of agent.stream('hi')) if (event.type === 'text_delta') count++
    return count
  }
}

function addingModel(witness: Witness): Model {
  return {
    provider: 'bench',
    id: 'adding',
    async *stream({ messages }): AsyncGenerator<ModelPart> {
      const next = witness.next(resultsIn(messages))
      if (next < 0) yield { type: 'text_delta', text: answer }
      else yield { type: 'tool_call', callId: `call_${next}`, toolName, args: additionTexts[next] ?? '' }
      yield usage
      yield { type: 'finish', reason: next < 0 ? 'stop' : 'tool_calls' }
    },
  }
}

function resultsIn(messages: readonly Message[]): number[] {
  const results: number[] = []
  for (const { role, content } of messages) {
    if (role === 'tool')
      for (const { content: parts } of content)
        for (const part of parts) if (part.type === 'text') results.push(Number(part.text))
  }
  return results
}

/** A model that says so many words. */
export function talkingModel(deltas: number): Model {
  return {
    provider: 'bench',
    id: 'talking',
    async *stream(): AsyncGenerator<ModelPart> {
      for (let i = 0; i < deltas; i++) yield { type: 'text_delta', text: delta }
      yield usage
      yield { type: 'finish', reason: 'stop' }
    },
  }
}
