import type { Usage } from '@koagent/core'
import { countIn, isObject } from '../values.ts'

/** The usage so far: the last that was reported, since servers that report it often count from the beginning. Nothing but zeros is no report. */
export function usageIn(chunk: Record<string, unknown>, before: Usage | undefined): Usage | undefined {
  const { usage, x_groq: groq, choices } = chunk
  // Groq and Moonshot have had places of their own for it.
  const [choice]: unknown[] = Array.isArray(choices) ? choices : []
  const places = [usage, isObject(groq) && groq['usage'], isObject(choice) && choice['usage']]
  const reported = places.map(usageOf).find((found) => found !== undefined)
  return reported && (!before || reported.inputTokens + reported.outputTokens > 0) ? reported : before
}

function usageOf(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const input = tokensIn(value['prompt_tokens']) ?? tokensIn(value['input_tokens'])
  const output = tokensIn(value['completion_tokens']) ?? tokensIn(value['output_tokens'])
  if (input === undefined && output === undefined) return undefined
  const inputDetails = detailsIn(value['prompt_tokens_details'] ?? value['input_tokens_details'])
  const outputDetails = detailsIn(value['completion_tokens_details'] ?? value['output_tokens_details'])
  const cached = firstCount(
    inputDetails['cached_tokens'],
    value['prompt_cache_hit_tokens'],
    value['cached_tokens'],
    value['cache_read_input_tokens'],
  )
  const cacheWrite = firstCount(
    inputDetails['cache_write_tokens'],
    inputDetails['cache_creation_tokens'],
    value['cache_creation_input_tokens'],
  )
  const reasoning = firstCount(outputDetails['reasoning_tokens'], value['reasoning_tokens'])
  return {
    inputTokens: withCached(input ?? 0, (cached ?? 0) + (cacheWrite ?? 0)),
    outputTokens: withReasoning(input ?? 0, output ?? 0, reasoning ?? 0, tokensIn(value['total_tokens'])),
    ...(cached !== undefined && { cachedInputTokens: cached }),
    ...(cacheWrite !== undefined && { cacheWriteTokens: cacheWrite }),
    ...(reasoning !== undefined && { reasoningTokens: reasoning }),
  }
}

/** A count that sums of it stay finite with. */
function tokensIn(value: unknown): number | undefined {
  const count = countIn(value)
  return count !== undefined && count <= Number.MAX_SAFE_INTEGER ? count : undefined
}

function detailsIn(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}

function firstCount(...values: readonly unknown[]): number | undefined {
  return values.map(tokensIn).find((count) => count !== undefined)
}

/** More from the cache than there was: then it was counted beside the rest, as Anthropic does. */
function withCached(input: number, cached: number): number {
  return cached > input ? input + cached : input
}

/** xAI counts reasoning beside the completion and not in it; the total tells. */
function withReasoning(input: number, output: number, reasoning: number, total: number | undefined): number {
  const beside = reasoning > output || (reasoning > 0 && total === input + output + reasoning)
  return beside ? output + reasoning : output
}
