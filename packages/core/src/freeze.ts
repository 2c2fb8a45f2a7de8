import type { Json } from './json.ts'

/**
 * What was frozen all the way down as a whole, so that a frozen history is never walked twice. Only the wholes: each entry of a WeakSet
 * costs more than freezing a small object does.
 */
const frozen = new WeakSet<object>()

/**
 * Freezes plain objects and arrays in place, all the way down. Class instances, functions, typed arrays and Maps stay as they are.
 * Cycles are safe. A second call on the same value takes constant time.
 */
export function deepFreeze<T>(value: T): T {
  if (!isPlain(value) || frozen.has(value)) return value
  // It grows while it is walked: a deep value cannot overflow the stack.
  const found: object[] = [Object.freeze(value)]
  // Someone may have frozen only the outside of these.
  let foreign: Set<object> | undefined
  for (const node of found) {
    for (const child of Array.isArray(node) ? node : Object.values(node)) {
      if (!isPlain(child)) continue
      if (Object.isFrozen(child)) {
        if (frozen.has(child) || foreign?.has(child)) continue
        ;(foreign ??= new Set()).add(child)
      }
      found.push(Object.freeze(child))
    }
  }
  frozen.add(value)
  return value
}

/**
 * A deeply frozen copy that the giver cannot change any more. Class instances, functions, typed arrays and Maps are shared; so is
 * what `deepFreeze` or `frozenCopy` gave back before. Accessors become plain values, absent fields (`undefined`) are left out.
 */
export function frozenCopy<T>(value: T): T {
  const copy = copyOf(value, new Map())
  if (isPlain(copy)) frozen.add(copy)
  return copy as T
}

/** A deep copy that its owner may change. Absent fields (`undefined`) are left out. */
export function copyJson(value: Json): Json {
  return copyOf(value) as Json
}

/** @param copies what has been copied so far, where the copy is to be frozen and what is frozen shared */
function copyOf(value: unknown, copies?: Map<object, unknown>): unknown {
  if (!isPlain(value) || (copies && frozen.has(value))) return value
  const made = copies?.get(value)
  if (made) return made
  // Spread makes a field of a key named `__proto__`, where an assignment to an empty object would set the prototype.
  const copy = Array.isArray(value) ? [...value] : ({ ...value } as Record<string, unknown>)
  copies?.set(value, copy)
  if (Array.isArray(copy)) copy.forEach((item, i) => (copy[i] = copyOf(item, copies)))
  else
    for (const key of Object.keys(copy)) {
      const field = copy[key]
      if (field === undefined) delete copy[key]
      else if (typeof field === 'object') copy[key] = copyOf(field, copies)
    }
  return copies ? Object.freeze(copy) : copy
}

/** Freezes a list whose members are deeply frozen already, without looking at them. */
export function freezeList<T>(list: T[]): readonly T[] {
  frozen.add(Object.freeze(list))
  return list
}

/** Did `deepFreeze`, `frozenCopy` or `freezeList` give back this very object or array? Then nothing in it will ever change. */
export function isDeepFrozen(value: object): boolean {
  return frozen.has(value)
}

/** Are two JSON values the same? Compared as text, so the order of keys counts. */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b)
}

/** Is it an array, or an object made by a literal, `JSON.parse` or `Object.create(null)`, from any realm? */
export function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  if (Array.isArray(value)) return true
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null
}
