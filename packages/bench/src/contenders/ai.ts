import { generateText, stepCountIs, streamText, tool, wrapLanguageModel } from 'ai'
import type { LanguageModel, LanguageModelMiddleware } from 'ai'
import { convertArrayToReadableStream } from 'ai/test'
import { z } from 'zod'
import { delta, fiveMiddlewares, noMiddleware, times } from './contender.ts'
import type { Contender, Stream } from './contender.ts'
import { additionTexts, answer, toolDescription, toolName, Witness } from './task.ts'

type Model = Extract<LanguageModel, { readonly specificationVersion: 'v3' }>
type Generated = Awaited<ReturnType<Model['doGenerate']>>
type Prompt = Parameters<Model['doGenerate']>[0]['prompt']
type Part = Awaited<ReturnType<Model['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never

const usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 5, text: 5, reasoning: 0 },
}
const stop = { unified: 'stop', raw: 'stop' } as const

/** The AI SDK's `generateText` and `streamText`. Its middlewares are those of `wrapLanguageModel`, around the model: it has none around tools. */
export const ai: Contender = {
  run(middlewares) {
    const witness = new Witness()
    const add = tool({
      description: toolDescription,
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      execute: async (input) => witness.add(input),
    })
    const model = wrapped(addingModel(witness), middlewares)
    return async () => {
      const { text } = await generateText({
        model,
        prompt: witness.begin(),
        tools: { [toolName]: add },
        stopWhen: stepCountIs(20),
      })
      return witness.proof(text)
    }
  },

  streams: (deltas) => ({
    [noMiddleware]: () => streaming(deltas, 0),
    [fiveMiddlewares]: () => streaming(deltas, 5),
  }),
}

function wrapped(model: Model, middlewares: number): Model {
  if (middlewares === 0) return model
  return wrapLanguageModel({ model, middleware: times(middlewares, noop) })
}

function noop(): LanguageModelMiddleware {
  return {
    specificationVersion: 'v3',
    transformParams: async ({ params }) => params,
    wrapGenerate: async ({ doGenerate }) => doGenerate(),
    wrapStream: async ({ doStream }) => doStream(),
  }
}

function streaming(deltas: number, middlewares: number): Stream {
  const model = wrapped(talkingModel(deltas), middlewares)
  return async () => {
    let count = 0
    for await (const part of streamText({ model, prompt: 'hi' }).fullStream) if (part.type === 'text-delta') count++
    return count
  }
}

function addingModel(witness: Witness): Model {
  return {
    ...fake,
    async doGenerate({ prompt }): Promise<Generated> {
      const next = witness.next(resultsIn(prompt))
      if (next < 0) return { content: [{ type: 'text', text: answer }], finishReason: stop, usage, warnings: [] }
      return {
        content: [{ type: 'tool-call', toolCallId: `call_${next}`, toolName, input: additionTexts[next] ?? '' }],
        finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
        usage,
        warnings: [],
      }
    },
  }
}

function resultsIn(prompt: Prompt): number[] {
  const results: number[] = []
  for (const message of prompt) {
    if (message.role !== 'tool') continue
    for (const part of message.content)
      if (part.type === 'tool-result' && part.output.type === 'json') results.push(Number(part.output.value))
  }
  return results
}

/** Its stream is the cheapest that the SDK offers for a fake: a ReadableStream of parts that are there already. */
function talkingModel(deltas: number): Model {
  const parts: Part[] = [
    { type: 'stream-start', warnings: [] },
    { type: 'text-start', id: 'text' },
    ...times(deltas, () => ({ type: 'text-delta' as const, id: 'text', delta })),
    { type: 'text-end', id: 'text' },
    { type: 'finish', finishReason: stop, usage },
  ]
  return { ...fake, doStream: async () => ({ stream: convertArrayToReadableStream(parts) }) }
}

const fake: Model = {
  specificationVersion: 'v3',
  provider: 'bench',
  modelId: 'fake',
  supportedUrls: {},
  async doGenerate() {
    throw new Error('this one only streams')
  },
  async doStream() {
    throw new Error('this one does not stream')
  },
}
