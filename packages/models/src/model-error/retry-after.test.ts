import { expect, test } from 'vitest'
import { retryAfterMs } from './retry-after.ts'

const now = Date.parse('2031-03-04T10:00:00Z')
const day = 86_400_000

test.for<readonly [Record<string, string>, number | undefined]>([
  [{}, undefined],
  [{ 'retry-after': '0' }, 0],
  [{ 'retry-after': '120' }, 120_000],
  [{ 'retry-after': ' 5 ' }, 5000],
  [{ 'retry-after': '' }, undefined],
  [{ 'retry-after': '1.5' }, undefined],
  [{ 'retry-after': '-3' }, undefined],
  [{ 'retry-after': '+3' }, undefined],
  [{ 'retry-after': '1e3' }, undefined],
  [{ 'retry-after': 'soon' }, undefined],
  [{ 'retry-after': '86401' }, day],
  [{ 'retry-after': '9'.repeat(400) }, day],
  [{ 'retry-after': 'Tue, 04 Mar 2031 10:00:30 GMT' }, 30_000],
  [{ 'retry-after': 'Tue, 04 Mar 2031 09:00:00 GMT' }, 0],
  [{ 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }, day],
  [{ 'retry-after': 'Tuesday, 04-Mar-31 10:00:30 GMT' }, 30_000],
  [{ 'retry-after': 'Tue Mar  4 10:00:30 2031' }, 30_000],
  [{ 'retry-after': 'Tue Mar  4 10:00:30' }, undefined],
  [{ 'retry-after': 'Tue, 99 Mar 2031 10:00:30 GMT' }, undefined],
  [{ 'retry-after': '2031-03-04T10:00:30Z' }, undefined],
  [{ 'retry-after-ms': '0', 'retry-after': '30' }, 0],
  [{ 'retry-after-ms': '250.4', 'retry-after': '30' }, 250],
  [{ 'retry-after-ms': '-1', 'retry-after': '30' }, 30_000],
  [{ 'retry-after-ms': 'NaN', 'retry-after': '30' }, 30_000],
  [{ 'retry-after-ms': 'Infinity' }, undefined],
])('the headers %j ask to wait %s ms', ([headers, ms]) => {
  expect(retryAfterMs(new Headers(headers), now)).toBe(ms)
})
