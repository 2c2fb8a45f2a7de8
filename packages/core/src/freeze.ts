import type { Json } from './json.ts'

/** Objects and arrays that are frozen all the way down, so that a frozen history is never walked twice. */
const frozen = new WeakSet<object>()

/**
 * Freezes plain objects and arrays in place, all the way down. Class instances, functions, typed arrays and Maps stay as they are.
 * Cycles are safe. A second call on the same value takes constant time.
 */
export function deepFreeze<T>(value: T): T {
  if (!isPlain(value) || frozen.has(value)) return value
  frozen.add(value)
  // The list grows while it is walked: a deep value cannot overflow the stack.
  const found: object[] = [value]
  for (const node of found) {
    for (const child of Object.values(Object.freeze(node))) {
      if (!isPlain(child) || frozen.has(child)) continue
      frozen.add(child)
      found.push(child)
    }
  }
  return value
}

/**
 * A deeply frozen copy that the giver cannot change any more. Class instances, functions, typed arrays and Maps are shared; so is
 * what `deepFreeze` or `frozenCopy` made before. Accessors become plain values.
 */
export function frozenCopy<T>(value: T): T {
  return copyFrozen(value, new Map()) as T
}

function copyFrozen(value: unknown, copies: Map<object, object>): unknown {
  if (!isPlain(value) || frozen.has(value)) return value
  const made = copies.get(value)
  if (made) return made
  const copy: Record<string, unknown> = shallowCopy(value)
  copies.set(value, copy)
  for (const key of Object.keys(copy)) copy[key] = copyFrozen(copy[key], copies)
  frozen.add(Object.freeze(copy))
  return copy
}

/** Freezes a list whose members are deeply frozen already, without looking at them. */
export function freezeList<T>(list: T[]): readonly T[] {
  frozen.add(Object.freeze(list))
  return list
}

/** Did `deepFreeze`, `frozenCopy` or `freezeList` freeze this object or array? Then nothing in it will ever change. */
export function isDeepFrozen(value: object): boolean {
  return frozen.has(value)
}

/** A deep copy that its owner may change. Absent fields (`undefined`) are left out. */
export function copyJson(value: Json): Json {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(copyJson)
  const copy: Record<string, Json | undefined> = shallowCopy(value)
  for (const key of Object.keys(copy)) {
    const field = copy[key]
    if (field === undefined) delete copy[key]
    else if (typeof field === 'object') copy[key] = copyJson(field)
  }
  return copy
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

// Spread defines a key named `__proto__` as a field, where an assignment to an empty object would set the prototype.
function shallowCopy(value: object): Record<string, never> {
  return (Array.isArray(value) ? [...value] : { ...value }) as never
}
