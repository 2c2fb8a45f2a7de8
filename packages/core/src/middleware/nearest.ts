/** The candidate with the smallest edit distance (Levenshtein 1966), for "did you mean". */
export function nearest(word: string, candidates: readonly string[]): string {
  let best = ''
  let least = Infinity
  for (const candidate of candidates) {
    const far = distance(word, candidate)
    if (far < least) [best, least] = [candidate, far]
  }
  return best
}

/** How many letters have to be put in, taken out or exchanged. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
