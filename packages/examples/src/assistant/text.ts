/** Marks text for a terminal, or leaves it plain. */
export function painter(
  colours: boolean,
): Record<'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan', (text: string | undefined) => string> {
  const paint = (on: number, off: number) => (text: string | undefined) =>
    colours ? `\u{1b}[${on}m${text}\u{1b}[${off}m` : `${text}`
  return {
    bold: paint(1, 22),
    dim: paint(2, 22),
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
  }
}

/** Takes out what would steer the terminal: files and models can hold anything. */
export function printable(text: string): string {
  return text.replaceAll('\t', '  ').replaceAll(/[^\P{Cc}\n]|[\u{202a}-\u{202e}\u{2066}-\u{2069}]/gu, '')
}

/** In one line. */
export function fold(text: string): string {
  return printable(text)
    .replaceAll(/\s*\n\s*/g, ' ⏎ ')
    .trimEnd()
}

const segmenter = new Intl.Segmenter()

/** At most so many characters, as a reader counts them; the end is cut. */
export function shorten(text: string, max: number): string {
  if (text.length <= max) return text
  const characters = Array.from(segmenter.segment(text.slice(0, max * 16)), ({ segment }) => segment)
  return characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`
}

/** Two texts, each at most so many characters, cut so that the place where they part is in sight. */
export function side(before: string, after: string, max: number): readonly [string, string] {
  if (before.length <= max && after.length <= max) return [before, after]
  let same = 0
  while (same < before.length && before[same] === after[same]) same++
  const start = Math.max(0, same - Math.floor(max / 3))
  const cut = (text: string): string => shorten(start > 0 ? `…${text.slice(start)}` : text, max)
  return [cut(before), cut(after)]
}

export function plural(count: number, noun: string): string {
  return `${count} ${count === 1 ? noun : `${noun}s`}`
}
