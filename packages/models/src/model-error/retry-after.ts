const day = 24 * 60 * 60 * 1000
const month = '(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)'
const time = String.raw`\d{2}:\d{2}:\d{2}`
/** The three forms of a date that RFC 9110, section 5.6.7, has recipients accept. */
const httpDates = [
  String.raw`(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} ${month} \d{4} ${time} GMT`,
  String.raw`(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, \d{2}-${month}-\d{2} ${time} GMT`,
  String.raw`(Mon|Tue|Wed|Thu|Fri|Sat|Sun) ${month} [\d ]\d ${time} \d{4}`,
].map((form) => new RegExp(`^${form}$`))

/**
 * How long a response asks to wait, in milliseconds: finite, not negative, at most a day. `retry-after-ms` is the more precise and
 * wins; `retry-after` holds whole seconds or an HTTP date (RFC 9110, section 10.2.3). A malformed value counts as absent.
 */
export function retryAfterMs(headers: Headers, now: number = Date.now()): number | undefined {
  const ms = headers.get('retry-after-ms')?.trim() ?? ''
  if (/^\d+(\.\d+)?$/.test(ms)) return atMostADay(Number(ms))
  const after = headers.get('retry-after')?.trim() ?? ''
  if (/^\d+$/.test(after)) return atMostADay(Number(after) * 1000)
  // The last of the forms says no zone, and means this one.
  const date = httpDates.some((form) => form.test(after)) ? Date.parse(after.replace(/(\d{4})$/, '$1 GMT')) : NaN
  return Number.isNaN(date) ? undefined : atMostADay(date - now)
}

function atMostADay(ms: number): number {
  return Math.min(Math.max(Math.round(ms), 0), day)
}
