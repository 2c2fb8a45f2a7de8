import type { Usage } from '@koagent/core'
import { countIn, isObject } from '../values.ts'

/** The fields of a later report over those of an earlier one: counts are those of the whole answer, and null stands for none. */
export function mergedUsage(earlier: Record<string, unknown>, report: unknown): Record<string, unknown> {
  const said = Object.entries(isObject(report) ? report : {}).filter(([, value]) => value !== null && value !== undefined)
  return { ...earlier, ...Object.fromEntries(said) }
}

/** The tokens of an answer, or undefined where none were reported. The API counts what the cache gave and took beside the input. */
export function usageOf(fields: Record<string, unknown>): Usage | undefined {
  const input = countIn(fields['input_tokens'])
  const output = countIn(fields['output_tokens'])
  if (input === undefined && output === undefined) return undefined
  const cached = countIn(fields['cache_read_input_tokens'])
  const written = countIn(fields['cache_creation_input_tokens'])
  const details = isObject(fields['output_tokens_details']) ? fields['output_tokens_details'] : {}
  const reasoning = countIn(details['thinking_tokens'])
  return {
    inputTokens: (input ?? 0) + (cached ?? 0) + (written ?? 0),
    outputTokens: output ?? 0,
    ...(cached !== undefined && { cachedInputTokens: cached }),
    ...(written !== undefined && { cacheWriteTokens: written }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
  }
}
