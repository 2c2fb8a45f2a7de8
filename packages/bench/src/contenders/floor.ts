import { delta, noMiddleware } from './contender.ts'
import type { Contender } from './contender.ts'
import { additionTexts, answer, Witness } from './task.ts'
import type { Addition } from './task.ts'

interface Call {
  readonly id: string
  readonly arguments: string
}

type Message =
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string; readonly call?: Call }
  | { readonly role: 'tool'; readonly id: string; readonly content: string }

interface Answer {
  readonly text: string
  readonly call?: Call
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number }
}

/** Output tokens that a run may take. */
const budget = 1_000

/** The loop that one writes by hand: no schema library, no events, no hooks, no cancel. */
export const floor: Contender = {
  run(middlewares) {
    if (middlewares > 0) return undefined
    const witness = new Witness()

    async function model(messages: readonly Message[]): Promise<Answer> {
      const results = messages.filter((message) => message.role === 'tool').map(({ content }) => Number(content))
      const next = witness.next(results)
      const usage = { inputTokens: 10, outputTokens: 5 }
      return next < 0
        ? { text: answer, usage }
        : { text: '', call: { id: `call_${next}`, arguments: additionTexts[next] ?? '' }, usage }
    }

    return async () => {
      const messages: Message[] = [{ role: 'user', content: witness.begin() }]
      let spent = 0
      for (;;) {
        const { text, call, usage } = await model(messages)
        spent += usage.outputTokens
        if (!call) return witness.proof(text)
        if (spent > budget) throw new Error('the model goes on and on')
        messages.push({ role: 'assistant', content: text, call })
        const { a, b } = JSON.parse(call.arguments) as Addition
        if (typeof a !== 'number' || typeof b !== 'number') throw new Error('add takes two numbers')
        messages.push({ role: 'tool', id: call.id, content: String(witness.add({ a, b })) })
      }
    }
  },

  streams: (deltas) => ({
    [noMiddleware]: () => async () => {
      let count = 0
      for await (const part of source(deltas)) if (part.type === 'text_delta') count++
      return count
    },
  }),
}

/** A bare asynchronous generator of deltas. */
async function* source(deltas: number): AsyncGenerator<{ readonly type: 'text_delta'; readonly text: string }> {
  for (let i = 0; i < deltas; i++) yield { type: 'text_delta', text: delta }
}
