/** How thoroughly to measure. */
export interface Settings {
  readonly rounds: number
  /** Milliseconds of work for one sample. */
  readonly sliceMs: number
  /** Milliseconds of work before the first sample, for the compiler's sake. */
  readonly warmMs: number
  /** How many middlewares the run part has at every point, one after the other. 0 and 5 are what its goals speak of. */
  readonly middlewares: readonly number[]
  /** Divides the sizes of the scale part. */
  readonly shrinkScale: number
  /** Divides the sizes of the memory part. 1 where its figures shall mean something. */
  readonly shrinkMemory: number
  /** Says what is going on. */
  readonly report: (text: string) => void
}

/** For figures to be shown. Some peers need seconds of work until all of theirs is compiled. */
export const thorough = { rounds: 12, sliceMs: 200, warmMs: 4_000, middlewares: [0, 1, 5, 10], shrinkScale: 1, shrinkMemory: 1 }

/** For a first look: all parts within two minutes. */
export const quick = { rounds: 3, sliceMs: 50, warmMs: 900, middlewares: [0, 5], shrinkScale: 4, shrinkMemory: 1 }
