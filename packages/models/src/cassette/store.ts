/**
 * Where a cassette is kept: lines of text.
 *
 * Contract: for each store `record` calls `begin` once, before the first `append`, and waits for each call before it makes the next. What they throw
 * becomes a `ModelError` of the model call that was to be recorded.
 */
export interface CassetteStore {
  /** Names it in errors, such as a file's path. */
  readonly name: string
  /** All lines, oldest first; none where nothing was recorded. Synchronous: a model that replays must know its own name at once. */
  lines(): readonly string[]
  /** Drops what is there, and keeps this as the first line. */
  begin(line: string): void | Promise<void>
  append(line: string): void | Promise<void>
}

/** A cassette that is gone with the process: for tests that record and replay in one. */
export function memoryCassette(): CassetteStore {
  let lines: string[] = []
  return {
    name: 'the cassette in memory',
    lines: () => [...lines],
    begin(line) {
      lines = [line]
    },
    append(line) {
      lines.push(line)
    },
  }
}
