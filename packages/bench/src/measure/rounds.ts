import { Crew } from './crew.ts'
import type { Place } from './crew.ts'
import type { Settings } from '../settings.ts'

/** The samples of each lane that never failed, in the order of the places, and what went wrong with the others. */
export interface Measured {
  readonly samples: ReadonlyMap<Place, readonly number[]>
  readonly failures: readonly string[]
}

/**
 * Measures all lanes round by round, one after the other, so that what else happens on the machine hits all of them alike.
 * A lane that fails is left out of the rounds that follow.
 */
export async function measure(
  places: readonly Place[],
  { rounds, sliceMs, warmMs, report }: Settings,
  crew: Pick<Crew, 'measure' | 'stop'> = new Crew(),
): Promise<Measured> {
  const samples = new Map<Place, number[]>()
  const failures: string[] = []
  try {
    for (const round of [-1, ...Array.from({ length: rounds }, (_, i) => i)]) {
      for (const place of round < 0 ? places : samples.keys()) {
        report(
          `${place.lane.part}: ${round < 0 ? 'warming up' : `round ${round + 1} of ${rounds}`}, ${place.lane.contender}, ${place.lane.variant}`,
        )
        try {
          const cpu = await crew.measure(place, round < 0 ? warmMs : sliceMs)
          if (round < 0) samples.set(place, [])
          else samples.get(place)?.push(cpu)
        } catch (error) {
          failures.push(error instanceof Error ? error.message : String(error))
          samples.delete(place)
        }
      }
    }
  } finally {
    crew.stop()
  }
  return { samples, failures }
}
