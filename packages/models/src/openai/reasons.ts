/**
 * Does OpenAI's model of this name reason? Undefined for a name that does not say, such as an Azure deployment's. Models that do not are
 * those that refuse to encrypt their reasoning: GPT-3.5, GPT-4 and the chat variant of GPT-5 (pydantic/pydantic-ai#2865, #3326).
 */
export function reasons(model: string): boolean | undefined {
  const name = model.replace(/^.*\//, '').replace(/^ft:/, '')
  if (/^(gpt-[34]|chatgpt-4o|gpt-5-chat)/.test(name)) return false
  return /^(o\d|gpt-[5-9]|codex-|computer-use-)/.test(name) || undefined
}
