import type { Usage } from '@koagent/core'
import { countIn, isObject } from '../values.ts'

/** The usage that a response reports, or undefined where it reports none. */
export function usageOf(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const input = countIn(value['input_tokens'])
  const output = countIn(value['output_tokens'])
  if (input === undefined && output === undefined) return undefined
  const inputDetails = isObject(value['input_tokens_details']) ? value['input_tokens_details'] : {}
  const outputDetails = isObject(value['output_tokens_details']) ? value['output_tokens_details'] : {}
  const cached = countIn(inputDetails['cached_tokens'])
  const cacheWrite = countIn(inputDetails['cache_write_tokens'])
  const reasoning = countIn(outputDetails['reasoning_tokens'])
  return {
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    ...(cached !== undefined && { cachedInputTokens: cached }),
    ...(cacheWrite !== undefined && { cacheWriteTokens: cacheWrite }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
  }
}
