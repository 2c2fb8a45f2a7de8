import type { JsonObject } from '@koagent/core'
import { isObject, jsonIn, textIn } from '../values.ts'

/** A call as far as it has come. */
export interface OpenCall {
  id: string
  /** The id that its deltas carry, from the first of them on. */
  streamedAs: string | undefined
  index: number | undefined
  name: string
  args: string
  /** How much of `args` has gone out in deltas. */
  streamed: number
  /** What a provider hangs on a call and wants back with it, such as Gemini's thought signature. */
  extra: JsonObject | undefined
}

/** What one fragment says of a call. Empty or undefined is what it does not say. */
export interface Piece {
  readonly id: string
  readonly index: number | undefined
  readonly name: string
  readonly args: string
  /** The arguments came as an object, so they are all there. */
  readonly whole: boolean
  readonly extra: JsonObject | undefined
}

export function pieceOf(fragment: Record<string, unknown>): Piece {
  const fn = isObject(fragment['function']) ? fragment['function'] : {}
  const args = fn['arguments']
  return {
    id: typeof fragment['id'] === 'number' ? String(fragment['id']) : textIn(fragment['id']),
    index: indexIn(fragment['index']),
    name: textIn(fn['name']),
    args: typeof args === 'string' ? args : args === null || args === undefined ? '' : JSON.stringify(args),
    whole: isObject(args),
    extra: isObject(fragment['extra_content']) ? (fragment['extra_content'] as JsonObject) : undefined,
  }
}

function indexIn(value: unknown): number | undefined {
  const index = typeof value === 'string' && value.trim() ? Number(value) : value
  return typeof index === 'number' && Number.isInteger(index) ? index : undefined
}

/** The call that a fragment continues, or undefined where it begins one. */
export function continuedBy(piece: Piece, calls: readonly OpenCall[], touched: ReadonlySet<OpenCall>): OpenCall | undefined {
  const known = piece.id ? withIdOf(piece, calls) : undefined
  if (known) return known
  const open =
    piece.index === undefined
      ? calls.at(-1)
      : (calls.findLast((call) => call.index === piece.index) ??
        (piece.name ? undefined : calls.findLast((call) => call.index === undefined)))
  if (!open) return undefined
  // A new id opens a new call. But several servers make up an id for each fragment: what has no name and comes to a call that is not
  // whole, under its index, is more of that one (vllm-project/vllm#23522, NousResearch/hermes-agent#5331).
  if (open.id && piece.id) return piece.index !== undefined && open.name && !piece.name && !isWhole(open.args) ? open : undefined
  if (renames(open, piece)) return continuesName(open, piece) ? open : undefined
  // Without ids, and perhaps indexes, only the content tells a second call of one tool from more of the first.
  if (!piece.name || !open.name) return open
  if (piece.index === undefined && touched.has(open)) return undefined
  return (piece.whole || piece.args.trimStart().startsWith('{')) && isWhole(open.args) ? undefined : open
}

/** An id may serve two calls, under two indexes or names; and an index may be wrong where the id is right (agno-agi/agno#8880). */
function withIdOf(piece: Piece, calls: readonly OpenCall[]): OpenCall | undefined {
  const named = calls.filter((call) => call.id === piece.id && !renames(call, piece))
  return (
    named.findLast((call) => call.index === undefined || piece.index === undefined || call.index === piece.index) ??
    named.findLast((call) => !piece.name || repeats(call.args, piece.args))
  )
}

function renames(call: OpenCall, piece: Piece): boolean {
  return call.name !== '' && piece.name !== '' && call.name !== piece.name
}

/** A name in pieces comes like any other: at the index of its call, without the id that only the first piece has. */
function continuesName(call: OpenCall, piece: Piece): boolean {
  return call.id !== '' && piece.id === '' && piece.index !== undefined && call.index === piece.index && call.args === ''
}

/** The name with one more piece: most servers send it whole, some of them in every fragment, and a few in pieces. */
export function joinNames(name: string, piece: string): string {
  if (!piece || piece === name) return name
  return piece.startsWith(name) ? piece : name + piece
}

/** The arguments with one more piece. */
export function joinArgs(args: string, piece: Piece): string {
  if (isPlaceholder(args) && !piece.name && piece.args.trimStart().startsWith('{')) return piece.args
  // All of it once more, at the end (vllm-project/vllm#44098, BerriAI/litellm#20480). As more of the same text it could be no JSON.
  return repeats(args, piece.args) ? args : args + piece.args
}

/** No arguments, or what some servers send before the first piece of them (BerriAI/litellm#4537). */
export function isPlaceholder(args: string): boolean {
  return args.length < 8 && args.trim() === '{}'
}

function repeats(args: string, piece: string): boolean {
  return piece.length > 1 && piece.trim() === args.trim() && isWhole(args)
}

/** Are these arguments all there? */
export function isWhole(args: string): boolean {
  if (!args.trimEnd().endsWith('}')) return false
  return isObject(jsonIn(args))
}
