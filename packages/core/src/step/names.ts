const maxLength = 64

/** A reversible map between tool names and names that every provider accepts: `^[a-zA-Z0-9_-]{1,64}$`, no two alike. */
export interface ToolNames {
  /** A name that was not in the list comes back cleaned, so that an old call can still be sent. */
  readonly toProvider: (name: string) => string
  /** A name that was not in the list comes back as it is. */
  readonly fromProvider: (name: string) => string
}

/** Is it a name that every provider accepts? */
export function isLegalName(name: string): boolean {
  return /^[\w-]{1,64}$/.test(name)
}

/**
 * Maps a set of tool names: those that tools have, and those of calls in the history. Legal names keep their own. The same set gives the
 * same map, in whatever order it is listed.
 */
export function toolNames(names: readonly string[]): ToolNames {
  const back = new Map(names.filter(isLegalName).map((name) => [name, name]))
  const there = new Map(back)
  for (const name of [...new Set(names)].toSorted()) {
    if (there.has(name)) continue
    const provider = clean(name, back)
    there.set(name, provider)
    back.set(provider, name)
  }
  return {
    toProvider: (name) => there.get(name) ?? clean(name, back),
    fromProvider: (name) => back.get(name) ?? name,
  }
}

function clean(name: string, taken: ReadonlyMap<string, string>): string {
  const cleaned = name.replace(/[^\w-]/g, '_')
  const base = /[a-zA-Z0-9]/.test(cleaned) ? cleaned : 'tool'
  let id = base.slice(0, maxLength)
  for (let n = 2; taken.has(id); n++) id = `${base.slice(0, maxLength - `_${n}`.length)}_${n}`
  return id
}
