import type { Usage } from '@koagent/core'
import { countIn, isObject } from '../values.ts'

/** The usage that a chunk reports, or undefined where it reports none. */
export function usageOf(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const input = countIn(value['prompt_tokens'])
  const output = countIn(value['completion_tokens'])
  if (input === undefined && output === undefined) return undefined
  const inputDetails = isObject(value['prompt_tokens_details']) ? value['prompt_tokens_details'] : {}
  const outputDetails = isObject(value['completion_tokens_details']) ? value['completion_tokens_details'] : {}
  const cached = countIn(inputDetails['cached_tokens']) ?? countIn(value['prompt_cache_hit_tokens'])
  const cacheWrite = countIn(inputDetails['cache_write_tokens'])
  const reasoning = countIn(outputDetails['reasoning_tokens'])
  return {
    inputTokens: input ?? 0,
    outputTokens: withReasoning(input ?? 0, output ?? 0, reasoning ?? 0, countIn(value['total_tokens'])),
    ...(cached !== undefined && { cachedInputTokens: cached }),
    ...(cacheWrite !== undefined && { cacheWriteTokens: cacheWrite }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
  }
}

/** xAI counts reasoning beside the completion and not in it; the total tells. */
function withReasoning(input: number, output: number, reasoning: number, total: number | undefined): number {
  const beside = reasoning > output || (reasoning > 0 && total === input + output + reasoning)
  return beside ? output + reasoning : output
}
