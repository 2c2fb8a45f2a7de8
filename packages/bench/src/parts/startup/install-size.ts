import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'

interface Manifest {
  readonly name: string
  readonly version: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

/** What comes with a package. */
export interface InstallSize {
  readonly bytes: number
  readonly packages: number
}

/**
 * What an install of a package brings: itself, its dependencies and theirs, and the peers that are not optional. Of optional dependencies what is installed here.
 *
 * @param own bytes of the package itself, where its folder holds more than is published
 * @throws Error that names a dependency which is not installed
 */
export function installSize(name: string, from: string, own?: number): InstallSize {
  const seen = new Set<string>()
  const count = (folder: string, known?: number): number => {
    if (seen.has(folder)) return 0
    seen.add(folder)
    const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = manifestIn(folder)
    const peers = Object.keys(peerDependencies ?? {}).filter((peer) => !peerDependenciesMeta?.[peer]?.optional)
    const optional = Object.keys(optionalDependencies ?? {})
    const needed = [...Object.keys(dependencies ?? {}), ...peers].filter((each) => !optional.includes(each))
    let bytes = known ?? bytesIn(folder)
    for (const each of needed) bytes += count(folderOf(each, folder))
    for (const each of optional) {
      const found = find(each, folder)
      if (found) bytes += count(found)
    }
    return bytes
  }
  return { bytes: count(folderOf(name, from), own), packages: seen.size }
}

/** @throws Error when it is not installed */
export function versionOf(name: string, from: string): string {
  return manifestIn(folderOf(name, from)).version
}

function folderOf(name: string, from: string): string {
  const found = find(name, from)
  if (!found) throw new Error(`${name} is not installed for ${from}`)
  return found
}

/** As Node looks for packages: in the `node_modules` of the folder and of all above it. */
function find(name: string, from: string): string | undefined {
  const candidate = join(from, 'node_modules', name)
  if (existsSync(join(candidate, 'package.json'))) return realpathSync(candidate)
  const parent = dirname(from)
  return parent === from ? undefined : find(name, parent)
}

function manifestIn(folder: string): Manifest {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest
}

/** Of its files; what is nested in `node_modules` counts as a package of its own. */
function bytesIn(folder: string): number {
  let bytes = 0
  for (const each of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, each.name)
    if (each.isDirectory()) bytes += each.name === 'node_modules' ? 0 : bytesIn(path)
    else if (each.isFile()) bytes += statSync(path).size
  }
  return bytes
}
