/** The candidate that is spelt most like a word, for "did you mean", and how far it is. Only letters count, and not their case. */
export function nearest(word: string, candidates: readonly string[]): { readonly name: string; readonly far: number } {
  const all = candidates.map((name) => ({ name, far: distance(letters(word), letters(name)) }))
  return all.reduce((best, one) => (one.far < best.far ? one : best))
}

function letters(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z]/g, '')
}

/** How many letters have to be put in, taken out or exchanged (Levenshtein 1966). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (const letter of a) {
    const next = [(row[0] as number) + 1]
    for (let j = 0; j < b.length; j++)
      next.push(Math.min((row[j] as number) + (letter === b[j] ? 0 : 1), (row[j + 1] as number) + 1, (next[j] as number) + 1))
    row = next
  }
  return row.at(-1) as number
}
