const day = 24 * 60 * 60 * 1000
const httpDate =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} GMT$/

/**
 * How long a response asks to wait, in milliseconds: finite, not negative, at most a day. `retry-after-ms` is the more precise and
 * wins; `retry-after` holds whole seconds or an HTTP date (RFC 9110, section 10.2.3). A malformed value counts as absent.
 */
export function retryAfterMs(headers: Headers, now: number = Date.now()): number | undefined {
  const ms = headers.get('retry-after-ms')?.trim() ?? ''
  if (/^\d+(\.\d+)?$/.test(ms)) return atMostADay(Number(ms))
  const after = headers.get('retry-after')?.trim() ?? ''
  if (/^\d+$/.test(after)) return atMostADay(Number(after) * 1000)
  const date = httpDate.test(after) ? Date.parse(after) : NaN
  return Number.isNaN(date) ? undefined : atMostADay(date - now)
}

function atMostADay(ms: number): number {
  return Math.min(Math.max(Math.round(ms), 0), day)
}
