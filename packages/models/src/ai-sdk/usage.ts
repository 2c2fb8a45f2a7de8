import type { Usage } from '@koagent/core'
import { countIn, isObject } from '../values.ts'

/** The usage of a finish, flat (v2) or by kind (v3, v4), or undefined where it reports none. */
export function usageOf(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const { inputTokens, outputTokens } = value
  const input = isObject(inputTokens) ? inputTokens : { total: inputTokens, cacheRead: value['cachedInputTokens'] }
  const output = isObject(outputTokens) ? outputTokens : { total: outputTokens, reasoning: value['reasoningTokens'] }
  const [cached, written, reasoning] = [countIn(input['cacheRead']), countIn(input['cacheWrite']), countIn(output['reasoning'])]
  const read = countIn(input['total']) ?? sum(input['noCache'], cached, written)
  const wrote = countIn(output['total']) ?? sum(output['text'], reasoning)
  if (read === undefined && wrote === undefined) return undefined
  return {
    // A part that is more than the whole was counted beside it, as Anthropic's cache is in v2.
    inputTokens: (cached ?? 0) > (read ?? 0) ? (read ?? 0) + (cached ?? 0) : (read ?? 0),
    outputTokens: withReasoning(read ?? 0, wrote ?? 0, reasoning ?? 0, countIn(value['totalTokens'])),
    ...(cached !== undefined && { cachedInputTokens: cached }),
    ...(written !== undefined && { cacheWriteTokens: written }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
  }
}

/** Google's v2 models count reasoning beside the output; the total tells. */
function withReasoning(input: number, output: number, reasoning: number, total: number | undefined): number {
  const beside = reasoning > output || (reasoning > 0 && total === input + output + reasoning)
  return beside ? output + reasoning : output
}

function sum(...counts: readonly unknown[]): number | undefined {
  const known = counts.map(countIn).filter((count) => count !== undefined)
  return known.length > 0 ? known.reduce((total, count) => total + count) : undefined
}
