/**
 * How long the end of the stream may take to follow the last payload, and in how many pieces what comes before it. A connection that was read to its
 * end serves the next call, too.
 */
const endMs = 100
const endPieces = 64

/** Reads what follows a complete answer, for as long as that is worth it. It never rejects. */
export async function readToEnd(body: ReadableStreamDefaultReader<unknown>): Promise<void> {
  const timer = setTimeout(() => void body.cancel().catch(() => {}), endMs)
  try {
    for (let piece = 0; piece < endPieces && !(await body.read()).done; piece++);
  } catch {
    // The answer is complete: how the connection ended no longer matters.
  } finally {
    clearTimeout(timer)
  }
}
