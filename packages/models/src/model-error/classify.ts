/** May a request that was answered with this status succeed later? Time-outs, conflicts, rate limits and the server's own failures. */
export function isRetryableStatus(status: number): boolean {
  return status === 408 || status === 409 || status === 425 || status === 429 || status >= 500
}

// The words of OpenAI, Anthropic, Google, xAI, Groq, OpenRouter, vLLM, llama.cpp, LM Studio, Mistral, Moonshot, MiniMax, Zhipu, DashScope and TGI for it.
const overflow = [
  /context[_ ](length|window|size|limit)/i,
  /(prompt|input) is too long/i,
  /(input|prompt) token count/i,
  /maximum prompt length/i,
  /reduce the length of (the|your) (messages|prompt|input)/i,
  /(exceeds|exceeded)\b.*\btoken limit/i,
  /too many (input |prompt )?tokens/i,
  /prompt exceeds max(imum)? length/i,
  /range of input length should be/i,
  /`?inputs`? tokens \+ /i,
]

/**
 * Does this refusal say that the request is longer than the model's window? Only a refusal of the request counts: a rate limit
 * speaks of tokens, too.
 */
export function isContextOverflow(status: number | undefined, code: unknown, message: string): boolean {
  if (code === 'context_length_exceeded') return true
  if (status === 413) return true
  return (status === undefined || status === 400 || status === 422) && overflow.some((words) => words.test(message))
}
