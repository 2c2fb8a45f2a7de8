const legal = /^[a-zA-Z0-9_-]{1,64}$/
const maxLength = 64

/** A reversible map between tool names and names that every provider accepts: `^[a-zA-Z0-9_-]{1,64}$`, no two alike. */
export interface ToolNames {
  /** Is every name legal as it is? Then nothing needs mapping. */
  readonly identity: boolean
  /** A name that was not in the list comes back cleaned, so that an old call can still be sent. */
  toProvider(name: string): string
  /** A name that was not in the list comes back as it is. */
  fromProvider(name: string): string
}

/** Is it a name that every provider accepts? */
export function isLegalName(name: string): boolean {
  return legal.test(name)
}

/**
 * Maps a set of tool names: those that tools have, and those of calls in the history. Legal names keep their own. The same set gives the
 * same map, in whatever order it is listed.
 */
export function toolNames(names: readonly string[]): ToolNames {
  const there = new Map<string, string>()
  const back = new Map<string, string>()
  const add = (name: string, provider: string): void => {
    there.set(name, provider)
    back.set(provider, name)
  }
  const illegal = new Set<string>()
  for (const name of names) {
    if (isLegalName(name)) add(name, name)
    else illegal.add(name)
  }
  for (const name of [...illegal].toSorted()) add(name, clean(name, back))
  return {
    identity: illegal.size === 0,
    toProvider: (name) => there.get(name) ?? (isLegalName(name) && !back.has(name) ? name : clean(name, back)),
    fromProvider: (name) => back.get(name) ?? name,
  }
}

function clean(name: string, taken: ReadonlyMap<string, string>): string {
  const cleaned = name.replace(/[^a-zA-Z0-9_-]/g, '_')
  const base = /[a-zA-Z0-9]/.test(cleaned) ? cleaned : 'tool'
  let id = base.slice(0, maxLength)
  for (let n = 2; taken.has(id); n++) id = `${base.slice(0, maxLength - `_${n}`.length)}_${n}`
  return id
}
