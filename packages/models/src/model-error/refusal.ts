/** What a server said when it refused a request or failed. */
export interface Refusal {
  /** Empty when it said nothing. */
  readonly message: string
  readonly code?: string
  readonly type?: string
  readonly status?: number
}

const maxChars = 1000

/** Finds a server's words in the text of its answer: JSON of any of the usual shapes, or plain text. */
export function refusalOfText(text: string): Refusal {
  try {
    if (/^\s*[[{"]/.test(text)) return refusalOf(JSON.parse(text))
  } catch {
    // It only looks like JSON.
  }
  return { message: capped(text.trim()) }
}

/** The same for a JSON value, or for text that is one: `{ error: { message } }`, `{ error: 'text' }`, `{ message }`, `{ detail }`, `{ msg }`, or a list with one of these. */
export function refusalOf(value: unknown): Refusal {
  if (Array.isArray(value) && value.length > 0) return refusalOf(value[0])
  if (typeof value === 'string') return refusalOfText(value)
  if (typeof value !== 'object' || value === null) return { message: capped(JSON.stringify(value) ?? '') }
  const fields = value as Record<string, unknown>
  // The latter is MiniMax's.
  const inner = fields['error'] || fields['base_resp']
  if (inner) return refusalOf(inner)
  const { message, detail, msg, status_msg: statusMessage, code, type, metadata } = fields
  const text = [message, detail, msg, statusMessage].find((said) => typeof said === 'string' && said) ?? JSON.stringify(value)
  const status = [fields['status'], fields['status_code'], code]
    .map(Number)
    .find((number) => Number.isInteger(number) && number >= 400 && number < 600)
  return {
    message: capped([text, upstream(metadata)].filter(Boolean).join(': ')),
    ...(typeof code === 'string' && { code }),
    ...(typeof type === 'string' && { type }),
    ...(status !== undefined && { status }),
  }
}

/** OpenRouter puts the words of the provider behind it there. */
function upstream(metadata: unknown): string {
  const raw = (metadata as { readonly raw?: unknown } | null | undefined)?.raw
  return typeof raw === 'string' ? raw : ''
}

function capped(text: string): string {
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text
}
