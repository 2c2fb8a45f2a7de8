import type { Place } from '../../measure/crew.ts'
import { measure } from '../../measure/rounds.ts'
import { least, median } from '../../measure/statistics.ts'
import { ratio, figureOf } from '../figures.ts'
import { atMost } from '../part.ts'
import type { Figure, Part, Verdict } from '../part.ts'

interface Growth {
  /** Also the lane's name. */
  readonly what: string
  readonly unit: string
  readonly sizes: readonly number[]
  /** A size whose cost is taken off, where what stands around would hide that the rest grows; the rest is divided by its size. */
  readonly without?: number
  /** What the goal says of it; absent where the figure is there to be looked at. */
  readonly goal?: string
}

const growths: readonly Growth[] = [
  { what: 'concurrent runs', unit: 'µs/run', sizes: [10, 100, 1_000], goal: 'cost per run' },
  { what: 'a session that runs fill', unit: 'µs/message', sizes: [100, 1_000, 10_000], goal: 'cost per message' },
  { what: 'a run on a full session', unit: 'µs/run', sizes: [100, 1_000, 10_000] },
  { what: 'turns of one run', unit: 'µs/turn', sizes: [10, 100, 1_000] },
  { what: 'parallel tools', unit: 'µs/tool', sizes: [10, 50, 200], without: 1, goal: 'cost per tool' },
  { what: 'deltas', unit: 'µs/delta', sizes: [1_000, 10_000, 100_000], goal: 'cost per delta' },
]

/** From the smallest size to the largest. */
const limit = 1.2

export const scale: Part = {
  title: 'CPU time at growing sizes',

  async measure(settings) {
    const sized = shrunk(settings.shrinkScale)
    const lanes = sized.map((growth) => ({
      growth,
      base: placeOf(growth, growth.without ?? 0),
      places: growth.sizes.map((size) => ({ size, place: placeOf(growth, size) })),
    }))
    const all = lanes.flatMap(({ growth, base, places }) => [
      ...(growth.without === undefined ? [] : [base]),
      ...places.map(({ place }) => place),
    ])
    const { samples, failures } = await measure(all, settings)
    const figures = lanes.flatMap(({ growth, base, places }) =>
      places.flatMap(({ size, place }): Figure[] => {
        const values = samples.get(place)
        if (!values) return []
        const { without } = growth
        const off = without === undefined ? 0 : least(samples.get(base) ?? [])
        const perUnit = (value: number): number => (without === undefined ? value : (value - off) / (size - without))
        const [min, middle] = [perUnit(least(values)), perUnit(median(values))]
        const rounds = values.map(perUnit)
        return [{ contender: growth.what, variant: size.toLocaleString('en-US'), unit: growth.unit, min, median: middle, rounds }]
      }),
    )
    return { figures, verdicts: scaleVerdicts(figures, sized), failures }
  },
}

/** The same at smaller sizes, none of them twice. */
function shrunk(by: number): readonly Growth[] {
  return growths.map((growth) => ({
    ...growth,
    sizes: [...new Set(growth.sizes.map((size) => Math.max(2, Math.ceil(size / by / 2) * 2)))],
  }))
}

function placeOf({ what }: Growth, size: number): Place {
  return { process: what, lane: { part: 'scale', contender: what, variant: String(size) } }
}

/** What the figures say about the goals of this part. */
export function scaleVerdicts(figures: readonly Figure[], sized: readonly Growth[] = growths): Verdict[] {
  return sized.flatMap(({ what, goal, sizes }) => {
    if (!goal) return []
    const at = (size = 0): Figure | undefined => figureOf(figures, what, size.toLocaleString('en-US'))
    const times = ratio(at(sizes.at(-1)), at(sizes[0]))
    return [
      atMost(
        `${what}: ${goal} grows at most ${limit} × from ${sizes[0]?.toLocaleString('en-US')} to ${sizes.at(-1)?.toLocaleString('en-US')}`,
        times,
        limit,
      ),
    ]
  })
}
