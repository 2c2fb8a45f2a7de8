import { least, median } from '../../measure/statistics.ts'
import { measure } from '../../measure/rounds.ts'
import { ratio, figureOf } from '../figures.ts'
import { atMost } from '../part.ts'
import type { Figure, Part, Verdict } from '../part.ts'
import { few, layerPoints, many, raw, styles } from './lanes.ts'

const onions = [raw, ...layerPoints]

export const layer: Part = {
  title: 'CPU time of one layer that does nothing, at one point',

  async measure(settings) {
    const pairs = onions.flatMap((contender) =>
      styles.map((style) => ({
        contender,
        style,
        few: { process: style, lane: { part: 'layer', contender, variant: `${few}, ${style}` } },
        many: { process: style, lane: { part: 'layer', contender, variant: `${many}, ${style}` } },
      })),
    )
    const { samples, failures } = await measure(
      pairs.flatMap((pair) => [pair.few, pair.many]),
      settings,
    )
    const figures = pairs.flatMap(({ contender, style, few: lower, many: upper }): Figure[] => {
      const [low, high] = [samples.get(lower), samples.get(upper)]
      if (!low || !high) return []
      const perLayer = (difference: number): number => (difference * 1_000) / (many - few)
      const differences = high.map((value, round) => perLayer(value - (low[round] ?? NaN)))
      return [
        {
          contender,
          variant: style,
          unit: 'ns/layer',
          min: perLayer(least(high) - least(low)),
          median: median(differences),
          rounds: differences,
        },
      ]
    })
    return { figures, verdicts: layerVerdicts(figures), failures }
  },
}

/** What the figures say about the goals of this part. */
export function layerVerdicts(figures: readonly Figure[]): Verdict[] {
  return layerPoints.flatMap((point) =>
    styles.map((style) => {
      const times = ratio(figureOf(figures, point, style), figureOf(figures, raw, style))
      return atMost(`${point}, ${style}: at most 2.5 × ${raw}`, times, 2.5)
    }),
  )
}
