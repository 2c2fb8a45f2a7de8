import { parseArgs } from 'node:util'
import { partNames } from './parts/parts.ts'
import type { PartName } from './parts/parts.ts'
import { quick, thorough } from './settings.ts'
import type { Settings } from './settings.ts'

export const usage = `npm run bench -- [part …] [--quick] [--rounds N] [--save]

  part        ${partNames.join(', ')}; all of them when none is named
  --quick     a first look, within two minutes
  --rounds N  samples of each figure
  --save      writes the figures into the package: results.json, results.svg and the README`

/** What the user asked for. */
export interface Options {
  readonly parts: readonly PartName[]
  readonly settings: Omit<Settings, 'report'>
  readonly quick: boolean
  readonly save: boolean
}

/** Words on the command line that mean nothing, or that do not go together. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** @throws UsageError that says which word is wrong */
export function optionsOf(args: readonly string[]): Options {
  const { values, positionals } = parsed(args)
  const unknown = positionals.filter((name) => !isPart(name))
  if (unknown.length > 0) throw new UsageError(`no part is named '${unknown.join("', '")}': there are ${partNames.join(', ')}`)
  if (values.quick && values.save)
    throw new UsageError('figures of --quick are too rough to be kept: leave --quick or --save out')
  const base = values.quick ? quick : thorough
  const rounds = values.rounds === undefined ? base.rounds : roundsOf(values.rounds)
  return {
    parts: partNames.filter((name) => positionals.length === 0 || positionals.includes(name)),
    settings: { ...base, rounds },
    quick: values.quick,
    save: values.save,
  }
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        quick: { type: 'boolean', default: false },
        save: { type: 'boolean', default: false },
        rounds: { type: 'string' },
      },
    })
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), { cause: error })
  }
}

function isPart(name: string): name is PartName {
  return partNames.some((each) => each === name)
}

function roundsOf(text: string): number {
  const rounds = Number(text)
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > 1_000)
    throw new UsageError(`--rounds is '${text}', and must be a whole number from 1 to 1,000`)
  return rounds
}
