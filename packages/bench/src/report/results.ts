import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, platform } from 'node:os'
import { dirname, join } from 'node:path'
import { contenderNames, packages } from '../contenders/contenders.ts'
import { packageFolder } from '../measure/child.ts'
import type { PartResult } from '../parts/part.ts'
import { partNames } from '../parts/parts.ts'
import type { PartName } from '../parts/parts.ts'
import { versionOf } from '../parts/startup/install-size.ts'

/** Where and how a part was measured. */
export interface Environment {
  readonly date: string
  readonly node: string
  readonly cpu: string
  readonly platform: string
  readonly rounds: number
  readonly quick: boolean
  /** By contender. */
  readonly versions: Readonly<Record<string, string>>
}

export interface SavedPart extends PartResult {
  readonly title: string
  readonly environment: Environment
}

/** What is written as JSON: each part with its own environment, because parts may be measured one at a time. */
export type Results = Partial<Record<PartName, SavedPart>>

/** This machine, now. */
export function environment(rounds: number, quick: boolean): Environment {
  const model = cpus()[0]?.model ?? 'unknown'
  return {
    date: new Date().toISOString().slice(0, 10),
    node: process.version,
    cpu: `${cpus().length} × ${model}`,
    platform: `${platform()} ${process.arch}`,
    rounds,
    quick,
    versions: Object.fromEntries(
      contenderNames.flatMap((name) => (name === 'loop' ? [] : [[name, versionOf(packages[name], packageFolder)]])),
    ),
  }
}

/** The parts that were saved earlier, with these in place of their predecessors, in the order of the report. */
export function merged(old: Results, fresh: Results): Results {
  const all = { ...old, ...fresh }
  return Object.fromEntries(partNames.flatMap((name) => (all[name] ? [[name, all[name]]] : [])))
}

/** @throws Error when the file holds something else */
export function load(file: string): Results {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as Results
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
    throw error
  }
}

export function store(file: string, results: Results): void {
  write(file, `${JSON.stringify(results, null, 2)}\n`)
}

/** Makes the folder too. */
export function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** A file of this package. */
export function inPackage(...names: string[]): string {
  return join(packageFolder, ...names)
}
