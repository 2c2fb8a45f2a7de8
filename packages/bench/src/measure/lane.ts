/** One thing to measure. */
export interface Lane {
  /** Does it once. Contract: rejects when the work was not done as it should be, so that nothing wrong is ever measured. */
  readonly work: () => Promise<unknown>
  /** What one `work` counts as: runs, deltas, messages. */
  readonly units: number
}

/** Where a lane is found. */
export interface LaneId {
  readonly part: string
  readonly contender: string
  readonly variant: string
}

/**
 * Works for at least so many milliseconds. No garbage is collected by force before it: V8 then also throws away the shapes of objects that are gone,
 * and with them the code compiled for these, so that one would measure the compiler.
 *
 * @returns the CPU time of this process, in microseconds per unit: its threads for garbage and compiling included, waiting excluded
 */
export async function slice({ work, units }: Lane, ms: number): Promise<number> {
  let done = 0
  let batch = 1
  const end = performance.now() + ms
  const before = process.cpuUsage()
  let now = performance.now()
  do {
    const start = now
    for (let i = 0; i < batch; i++) await work()
    done += batch
    now = performance.now()
    // Rarely looking at the clock keeps it out of the figure.
    if (now - start < ms / 20) batch *= 2
  } while (now < end)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / (done * units)
}
