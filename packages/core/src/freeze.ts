import type { Json } from './json.ts'
import { newMark } from './mark.ts'

/** What is to be frozen, while it is built. */
export type Open<T> = { -readonly [Field in keyof T]: T[Field] }

/** What was frozen all the way down as a whole, so that a frozen history is never walked twice. */
const frozen = newMark<true>()

/**
 * Freezes plain objects and arrays in place, all the way down. Class instances, functions, typed arrays and Maps stay as they are.
 * Cycles are safe. A second call on the same value takes constant time.
 */
export function deepFreeze<T>(value: T): T {
  if (!isPlain(value) || frozen.get(value)) return value
  freezeInside(value)
  return freezeOuter(value)
}

/** Freezes an object whose fields are anything, all the way down; it is not remembered, so freezing it twice is work done twice. */
export function freezeFields<T extends object>(value: T): T {
  for (const key in value) {
    const field = value[key]
    if (typeof field === 'object') deepFreeze(field)
  }
  return Object.freeze(value)
}

/** Freezes an object or a list whose inside is frozen already, without looking at it. */
export function freezeOuter<T extends object>(value: T): T {
  frozen.set(value, true)
  return Object.freeze(value)
}

function freezeInside(value: object): void {
  // It grows while it is walked: a deep value cannot overflow the stack.
  const found: object[] = [value]
  // Someone may have frozen only the outside of these.
  let halves: Set<object> | undefined
  const visit = (child: unknown): void => {
    if (!isPlain(child)) return
    if (Object.isFrozen(child)) {
      if (frozen.get(child) || halves?.has(child)) return
      ;(halves ??= new Set()).add(child)
    }
    found.push(Object.freeze(child))
  }
  // By index: an iterator over a frozen array is several times slower.
  for (let i = 0; i < found.length; i++) {
    const node = found[i] as Record<string, unknown>
    if (Array.isArray(node)) for (let at = 0; at < node.length; at++) visit(node[at])
    else for (const key in node) visit(node[key])
  }
}

/**
 * A deeply frozen copy that the giver cannot change any more. Class instances, functions, typed arrays and Maps are shared; so is
 * what `deepFreeze` or `frozenCopy` gave back before. Accessors become plain values, absent fields (`undefined`) are left out.
 */
export function frozenCopy<T>(value: T): T {
  if (!isPlain(value) || frozen.get(value)) return value
  return freezeOuter(copyInside(value, new Map()) as T & object)
}

/** A deep copy that its owner may change. Absent fields (`undefined`) are left out. */
export function copyJson(value: Json): Json {
  return copyOf(value) as Json
}

/** @param copies what has been copied so far, where the copy is to be frozen and what is frozen shared */
function copyOf(value: unknown, copies?: Map<object, unknown>): unknown {
  if (!isPlain(value) || (copies && frozen.get(value))) return value
  return copies?.get(value) ?? (copies ? Object.freeze(copyInside(value, copies)) : copyInside(value))
}

function copyInside(value: object, copies?: Map<object, unknown>): object {
  return Array.isArray(value) ? copyItems(value, copies) : copyFields(value as Record<string, unknown>, copies)
}

function copyItems(list: readonly unknown[], copies: Map<object, unknown> | undefined): unknown[] {
  const copy: unknown[] = []
  copies?.set(list, copy)
  for (let i = 0; i < list.length; i++) copy.push(copyOf(list[i], copies))
  return copy
}

function copyFields(fields: Record<string, unknown>, copies: Map<object, unknown> | undefined): object {
  const copy: Record<string, unknown> = {}
  copies?.set(fields, copy)
  for (const key in fields) {
    const value = fields[key]
    if (value === undefined) continue
    const made = typeof value === 'object' ? copyOf(value, copies) : value
    // An assignment to `__proto__` would set the prototype.
    if (key === '__proto__')
      Object.defineProperty(copy, key, { value: made, enumerable: true, writable: true, configurable: true })
    else copy[key] = made
  }
  return copy
}

/** Freezes a list whose members are deeply frozen already, without looking at them. */
export function freezeList<T>(list: T[]): readonly T[] {
  return freezeOuter(list)
}

/** Did `deepFreeze`, `frozenCopy` or `freezeList` give back this very object or array? Then nothing in it will ever change. */
export function isDeepFrozen(value: object): boolean {
  return frozen.get(value) === true
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
