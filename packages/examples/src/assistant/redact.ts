import { defineMiddleware, mapText } from '@koagent/core'
import type { Middleware, ModelPart } from '@koagent/core'

/** What must not get around, by kind. None of them holds white space: streams are cut there. */
const secrets: readonly (readonly [kind: string, pattern: RegExp])[] = [
  ['API key', /\b(?:sk|pk|rk)-[\w-]{16,}/g],
  ['token', /\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-)[\w-]{16,}|\beyJ[\w-]+\.[\w-]+\.[\w-]+/g],
  ['access key', /\bAKIA[0-9A-Z]{16}\b/g],
  ['password', /(?<=\b\w*(?:password|passwd|secret)\w*[=:])[^\s"',;]+/gi],
  ['e-mail address', /(?<![\w.+-])[\w.+-]+@(?:[\w-]+\.)+[a-z]{2,}\b/gi],
]

/** The text with each secret replaced. */
export function redacted(text: string, replacement: (kind: string) => string = () => '[redacted]'): string {
  return secrets.reduce((rest, [kind, pattern]) => rest.replaceAll(pattern, () => replacement(kind)), text)
}

/**
 * Replaces secrets in tool results, before the model sees them; in the model's text, also where it comes in pieces; and in every event.
 *
 * An event that tells what was replaced names the kind of secret in its stead: `‹API key› → [redacted]`.
 */
export const redact: Middleware = defineMiddleware({
  name: 'redact',
  async after_tool(ctx, next) {
    await next()
    const clean = mapText(ctx.result, (text) => redacted(text))
    if (JSON.stringify(clean) !== JSON.stringify(ctx.result)) ctx.result = clean
  },
  around_llm_step(ctx, next) {
    ctx.transform(redactStream)
    return next()
  },
  sanitize: (text, path) => redacted(text, path.includes('before') ? (kind) => `‹${kind}›` : undefined),
})

/** A secret may be cut in two by the stream, so the last word is held back until it is known to be whole. */
async function* redactStream(parts: AsyncIterable<ModelPart>): AsyncGenerator<ModelPart> {
  let held = ''
  for await (const part of parts) {
    if (part.type === 'text_delta') {
      const text = held + part.text
      const end = text.search(/\S*$/)
      held = text.slice(end)
      if (end > 0) yield { ...part, text: redacted(text.slice(0, end)) }
      continue
    }
    if (held) yield { type: 'text_delta', text: redacted(held) }
    held = ''
    yield part
  }
  if (held) yield { type: 'text_delta', text: redacted(held) }
}
