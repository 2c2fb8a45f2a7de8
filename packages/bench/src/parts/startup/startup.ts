import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { packages, peerNames } from '../../contenders/contenders.ts'
import { packageFolder } from '../../measure/child.ts'
import { least, median } from '../../measure/statistics.ts'
import type { Settings } from '../../settings.ts'
import { ratio, figureOf } from '../figures.ts'
import { atMost } from '../part.ts'
import type { Figure, Part, Verdict } from '../part.ts'
import { importTime } from './import-time.ts'
import { installSize } from './install-size.ts'

const importing = 'import'
const installing = 'install size'
const counting = 'packages installed'

/** A user of koagent imports zod too, for the schemas of tools. */
const imports: readonly (readonly [name: string, packages: readonly string[]])[] = Object.entries(packages).map(
  ([name, each]) => [name, name === 'koagent' ? [each, 'zod'] : [each]],
)

export const startup: Part = {
  title: 'Start-up: CPU time of the import, and what an install brings',

  async measure(settings) {
    const times = await importTimes(settings)
    const figures = [...times.figures, ...sizes()]
    return { figures, verdicts: startupVerdicts(figures), failures: times.failures }
  },
}

/** Fresh processes, one after the other, round by round, with one that imports nothing in each round. */
async function importTimes({ rounds, report }: Settings): Promise<{ figures: Figure[]; failures: string[] }> {
  const empty: number[] = []
  const samples = new Map(imports.map(([name]) => [name, [] as number[]]))
  const failures: string[] = []
  for (let round = 0; round < rounds; round++) {
    report(`startup: round ${round + 1} of ${rounds}`)
    empty.push(await importTime([], packageFolder))
    for (const [name, each] of imports) {
      try {
        samples.get(name)?.push(await importTime(each, packageFolder))
      } catch (error) {
        failures.push(`startup, ${name}: ${String(error)}`)
        samples.delete(name)
      }
    }
  }
  const base = least(empty)
  const ms = (micros: number): number => (micros - base) / 1_000
  const figures = [...samples].map(([contender, values]) => ({
    contender,
    variant: importing,
    unit: 'ms',
    min: ms(least(values)),
    median: ms(median(values)),
  }))
  return { figures, failures: [...new Set(failures)] }
}

function sizes(): Figure[] {
  return Object.entries(packages).flatMap(([contender, name]) => {
    const { bytes, packages } = installSize(name, packageFolder, contender === 'koagent' ? publishedBytes() : undefined)
    return [
      { contender, variant: installing, unit: 'MB', min: bytes / 1e6 },
      { contender, variant: counting, unit: 'packages', min: packages },
    ]
  })
}

/** Of core, whose folder here holds tests too. */
function publishedBytes(): number {
  const packed = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: join(packageFolder, '../core'),
    encoding: 'utf8',
    shell: process.platform === 'win32',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [{ unpackedSize }] = JSON.parse(packed) as [{ readonly unpackedSize: number }]
  return unpackedSize
}

/** What the figures say about the goals of this part. */
export function startupVerdicts(figures: readonly Figure[]): Verdict[] {
  return [importing, installing].flatMap((what) =>
    peerNames.map((peer) => {
      const share = ratio(figureOf(figures, 'koagent', what), figureOf(figures, peer, what))
      const verdict = atMost(`${what}: less than ${peer}`, share, 1)
      return { ...verdict, met: share !== undefined && share < 1 }
    }),
  )
}
