import { describe, expect, test } from 'vitest'
import { isContextOverflow } from './classify.ts'

describe('a request that is too long is recognised', () => {
  test.for([
    "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    'Your input exceeds the context window of this model.',
    'prompt is too long: 210000 tokens > 200000 maximum',
    'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)',
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens",
    'Please reduce the length of the messages or completion.',
    'the request exceeds the available context size, try increasing it',
    'Your request exceeded model token limit: 262144 (requested: 300000)',
    'Prompt contains 40000 tokens, too large for model with 32768 maximum context length',
    'too many tokens in the prompt',
    'Prompt exceeds max length',
    'Range of input length should be [1, 98304]',
    'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens',
  ])('by its words: %s', (message) => {
    expect(isContextOverflow(400, undefined, message)).toBe(true)
    expect(isContextOverflow(undefined, undefined, message)).toBe(true)
  })

  test('by its code or its status', () => {
    expect(isContextOverflow(400, 'context_length_exceeded', '')).toBe(true)
    expect(isContextOverflow(413, undefined, '')).toBe(true)
  })

  test('and not confused with a rate limit or another refusal', () => {
    expect(isContextOverflow(429, undefined, 'Rate limit: too many tokens per minute')).toBe(false)
    expect(isContextOverflow(400, undefined, 'max_tokens must be positive')).toBe(false)
    expect(isContextOverflow(400, undefined, 'unknown field "context"')).toBe(false)
  })
})
