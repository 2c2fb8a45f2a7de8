import type { Change, Json } from '@koagent/core'

/** One place in which two versions of something differ. */
export interface Difference {
  readonly label: string
  readonly before: string
  readonly after: string
}

/** Where a layer's change shows: argument by argument, and within a text line by line. */
export function differences({ field, before, after }: Change): readonly Difference[] {
  return compare(field, [], before, after)
}

function compare(field: string, path: readonly string[], before: Json | undefined, after: Json | undefined): Difference[] {
  if (before === after) return []
  if (isTree(before) && isTree(after)) {
    const keys = new Set([...Object.keys(before), ...Object.keys(after)])
    return [...keys].flatMap((key) => compare(field, [...path, key], before[key], after[key]))
  }
  const label = field === 'args' && path.length > 0 ? path.join('.') : field
  const [from, to] = [show(before), show(after)]
  const [lines, others] = [from.split('\n'), to.split('\n')]
  if (lines.length !== others.length) return [{ label, before: from, after: to }]
  return lines.flatMap((line, i) => (line === others[i] ? [] : [{ label, before: line, after: others[i] ?? '' }]))
}

function isTree(value: Json | undefined): value is { readonly [key: string]: Json } {
  return typeof value === 'object' && value !== null
}

function show(value: Json | undefined): string {
  return typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
}
