import { compare } from '../testing/perf.ts'
import { timing } from './timing.ts'

compare('timing', timing({ report: () => {} }))
