import { compare } from '../testing/perf.ts'
import { logging } from './logging.ts'

compare('logging', logging({ log: () => {} }))
