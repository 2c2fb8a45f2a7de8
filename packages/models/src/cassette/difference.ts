import { isObject } from '../values.ts'

/** A place where two JSON values differ. What is not there is undefined. */
export interface Difference {
  /** Such as `messages[1].content[0].text`. */
  readonly path: string
  readonly recorded: unknown
  readonly asked: unknown
}

/** All places where they differ; what one of them lacks altogether is one place. */
export function differences(recorded: unknown, asked: unknown, path: string = ''): Difference[] {
  if (Array.isArray(recorded) && Array.isArray(asked)) {
    const length = Math.max(recorded.length, asked.length)
    return Array.from({ length }, (_, at) => differences(recorded[at], asked[at], `${path}[${at}]`)).flat()
  }
  if (isObject(recorded) && isObject(asked)) {
    const names = [...new Set([...Object.keys(recorded), ...Object.keys(asked)])]
    return names.flatMap((name) => differences(recorded[name], asked[name], inside(path, name)))
  }
  return recorded === asked ? [] : [{ path, recorded, asked }]
}

function inside(path: string, name: string): string {
  if (!/^[\w$]+$/.test(name)) return `${path}[${JSON.stringify(name)}]`
  return path ? `${path}.${name}` : name
}

/** How much differs there: the numbers, texts and so on that only one side has. */
export function sizeOf({ recorded, asked }: Difference): number {
  return leavesOf(recorded) + leavesOf(asked)
}

function leavesOf(value: unknown): number {
  if (value === undefined) return 0
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, inner) => sum + leavesOf(inner), 1)
}
