import { fiveMiddlewares, noMiddleware, sameSource } from '../contenders/contender.ts'
import { peerNames } from '../contenders/contenders.ts'
import { figureOf } from '../parts/figures.ts'
import { rounded } from '../parts/part.ts'
import type { Figure } from '../parts/part.ts'
import type { Results } from './results.ts'

interface Bar {
  readonly label: string
  readonly value: number
  readonly own: boolean
}

interface Panel {
  readonly title: string
  readonly bars: readonly Bar[]
}

const width = 760
const left = 230
const right = 80
const row = 24
const top = 40

/** Bars on a logarithmic scale: CPU time of a run and of a streamed delta; `undefined` when neither was measured. */
export function chart({ run, stream }: Results): string | undefined {
  const panels: Panel[] = []
  if (run)
    panels.push({ title: 'CPU time of a run of three tool turns and an answer: µs, logarithmic', bars: runBars(run.figures) })
  if (stream) panels.push({ title: 'CPU time of a streamed text delta: µs, logarithmic', bars: streamBars(stream.figures) })
  if (panels.length === 0) return undefined
  let y = 0
  const drawn = panels.map((panel) => {
    const text = draw(panel, y)
    y += top + panel.bars.length * row + 20
    return text
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y}" width="${width}" height="${y}" role="img" font-family="system-ui, sans-serif" font-size="13">
<title>What the framework itself costs. Less is better; the scale is logarithmic.</title>
<rect width="${width}" height="${y}" rx="8" fill="#ffffff"/>
${drawn.join('\n')}
</svg>
`
}

function runBars(figures: readonly Figure[]): readonly Bar[] {
  return [
    bar(figures, 'hand-written loop', 'loop', noMiddleware),
    bar(figures, 'koagent', 'koagent', noMiddleware),
    bar(figures, 'koagent, 5 middlewares', 'koagent', fiveMiddlewares),
    ...peerNames.flatMap((peer) => bar(figures, peer, peer, noMiddleware)),
    bar(figures, 'langchain, 5 middlewares', 'langchain', fiveMiddlewares),
  ].flat()
}

function streamBars(figures: readonly Figure[]): readonly Bar[] {
  return [
    bar(figures, 'bare generator', 'loop', noMiddleware),
    bar(figures, 'koagent', 'koagent', noMiddleware),
    bar(figures, 'koagent, 5 middlewares', 'koagent', fiveMiddlewares),
    ...peerNames.flatMap((peer) => bar(figures, peer, peer, peer === 'pi-agent-core' ? sameSource : noMiddleware)),
  ].flat()
}

/** One, or none where there is no figure. */
function bar(figures: readonly Figure[], label: string, contender: string, variant: string): Bar[] {
  const value = figureOf(figures, contender, variant)?.min
  return value === undefined ? [] : [{ label, value, own: contender === 'koagent' }]
}

function draw({ title, bars }: Panel, y: number): string {
  const values = bars.map(({ value }) => Math.log10(value))
  // The shortest bar has a length too.
  const [lowest, highest] = [Math.min(...values) - 0.3, Math.max(...values)]
  const lengthOf = (value: number): number => ((Math.log10(value) - lowest) / (highest - lowest || 1)) * (width - left - right)
  const lines = bars.map(({ label, value, own }, i) => {
    const at = y + top + i * row
    const length = lengthOf(value).toFixed(1)
    const weight = own ? ' font-weight="600"' : ''
    return [
      `<text x="${left - 10}" y="${at + 14}" text-anchor="end" fill="#1f2328"${weight}>${escaped(label)}</text>`,
      `<rect x="${left}" y="${at + 2}" width="${length}" height="16" rx="2" fill="${own ? '#0969da' : '#afb8c1'}"/>`,
      `<text x="${(left + Number(length) + 6).toFixed(1)}" y="${at + 14}" fill="#1f2328"${weight}>${rounded(value)}</text>`,
    ].join('\n')
  })
  return [`<text x="16" y="${y + 26}" fill="#1f2328" font-weight="600">${escaped(title)}</text>`, ...lines].join('\n')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
