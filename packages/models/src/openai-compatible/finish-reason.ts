import type { FinishReason } from '@koagent/core'

// The words of OpenAI, and of those who pass on the words of what is behind them: Mistral, DeepSeek, Zhipu, Gemini, Anthropic, vLLM, TGI.
const reasons = new Map<string, FinishReason>([
  ...(['stop', 'eos', 'eos_token', 'stop_sequence', 'end_turn', 'complete'] as const).map((word) => [word, 'stop'] as const),
  ...(['tool_calls', 'tool_call', 'tool_use', 'function_call'] as const).map((word) => [word, 'tool_calls'] as const),
  ...(['length', 'max_tokens', 'max_output_tokens', 'model_length'] as const).map((word) => [word, 'length'] as const),
  ...(['content_filter', 'safety', 'sensitive', 'recitation', 'prohibited_content', 'blocklist', 'refusal'] as const).map(
    (word) => [word, 'content_filter'] as const,
  ),
  // What broke off, and says so, is no whole answer.
  ...(['error', 'abort', 'network_error', 'insufficient_system_resource'] as const).map((word) => [word, 'error'] as const),
])

/** What a server's word for the end means, in any case of letters. */
export function finishReasonOf(word: string): FinishReason {
  return reasons.get(word.toLowerCase()) ?? 'other'
}
