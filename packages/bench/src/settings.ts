/** How thoroughly to measure. */
export interface Settings {
  readonly rounds: number
  /** Milliseconds of work for one sample. */
  readonly sliceMs: number
  /** Milliseconds of work before the first sample, for the compiler's sake. */
  readonly warmMs: number
  /** Divides the sizes of what is not measured by time, such as bytes and runs. 1 for figures that count. */
  readonly shrink: number
  /** Says what is going on. */
  readonly report: (text: string) => void
}
