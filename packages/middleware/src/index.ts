export { logging } from './logging/logging.ts'
export type { LoggingOptions, LogLevel } from './logging/logging.ts'
export { timing } from './timing/timing.ts'
export type { TimingOptions, ToolTiming } from './timing/timing.ts'
