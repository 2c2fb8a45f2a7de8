import type { JsonObject, ModelError, ModelPart, ModelToolCall } from '@koagent/core'
import { isObject, textIn } from '../values.ts'

interface OpenCall {
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

/** Puts the fragments of tool calls together. */
export interface ToolCallAssembler {
  /** Takes the `tool_calls` of one chunk, whatever that is. The deltas that came of it; none for a call before its name is known. */
  push(fragments: unknown): ModelPart[]
  /** The whole calls, in the order in which they first appeared. Throws when one has arguments and no name. */
  end(): ModelToolCall[]
}

/**
 * An assembler for one answer. Servers disagree about everything here, so a fragment is matched by its id, then by its index, then to
 * the last call; ids and names may come late, be empty or be repeated, an index may be missing or always 0, and arguments may be
 * text, an object or null. An id that comes after the first delta serves to match fragments only.
 */
export function toolCallAssembler(fail: (what: string) => ModelError): ToolCallAssembler {
  const calls: OpenCall[] = []

  return {
    push(fragments) {
      const parts: ModelPart[] = []
      if (!Array.isArray(fragments)) return parts
      const touched = new Set<OpenCall>()
      for (const fragment of fragments) {
        if (!isObject(fragment)) continue
        const piece = pieceOf(fragment)
        const call = find(calls, piece, touched) ?? begin(calls)
        touched.add(call)
        call.id ||= piece.id
        call.index ??= piece.index
        call.name ||= piece.name
        call.args += piece.args
        call.extra ??= piece.extra
        parts.push(...newDelta(call, calls))
      }
      return parts
    },

    end() {
      const whole: ModelToolCall[] = []
      for (const { id, streamedAs = id, name, args, extra } of calls) {
        if (name) {
          whole.push({
            type: 'tool_call',
            callId: streamedAs,
            toolName: name,
            args,
            ...(extra !== undefined && { providerData: { extra_content: extra } }),
          })
        } else if (args) {
          throw fail(`sent a tool call without a name, with the arguments ${args.slice(0, 200)}`)
        }
      }
      return whole
    },
  }
}

function begin(calls: OpenCall[]): OpenCall {
  const call: OpenCall = { id: '', streamedAs: undefined, index: undefined, name: '', args: '', streamed: 0, extra: undefined }
  calls.push(call)
  return call
}

/** What of the arguments has not gone out. Two calls under one id, or without one, could not be told apart: the later comes whole. */
function* newDelta(call: OpenCall, calls: readonly OpenCall[]): Generator<ModelPart> {
  const delta = call.args.slice(call.streamed)
  if (!call.name || !delta) return
  if (call.streamedAs === undefined && calls.some((other) => other.streamedAs === call.id)) return
  call.streamedAs ??= call.id
  call.streamed = call.args.length
  yield { type: 'tool_call_delta', callId: call.streamedAs, toolName: call.name, delta }
}

interface Piece {
  readonly id: string
  readonly index: number | undefined
  readonly name: string
  readonly args: string
  /** The arguments came as an object, so they are all there. */
  readonly whole: boolean
  readonly extra: JsonObject | undefined
}

function pieceOf(fragment: Record<string, unknown>): Piece {
  const fn = isObject(fragment['function']) ? fragment['function'] : {}
  const args = fn['arguments']
  return {
    id: typeof fragment['id'] === 'number' ? String(fragment['id']) : textIn(fragment['id']),
    index: Number.isInteger(fragment['index']) ? (fragment['index'] as number) : undefined,
    name: textIn(fn['name']),
    args: typeof args === 'string' ? args : args === null || args === undefined ? '' : JSON.stringify(args),
    whole: isObject(args),
    extra: isObject(fragment['extra_content']) ? (fragment['extra_content'] as JsonObject) : undefined,
  }
}

/** The call that a fragment continues, or undefined where it begins one. */
function find(calls: readonly OpenCall[], piece: Piece, touched: ReadonlySet<OpenCall>): OpenCall | undefined {
  if (piece.id) {
    const known = calls.findLast((call) => call.id === piece.id && !differs(call.index, piece.index) && !renames(call, piece))
    if (known) return known
  }
  const open =
    piece.index === undefined
      ? calls.at(-1)
      : (calls.findLast((call) => call.index === piece.index) ??
        (piece.name ? undefined : calls.findLast((call) => call.index === undefined)))
  if (!open || (open.id && piece.id) || renames(open, piece)) return undefined
  // Without ids, and perhaps indexes, only the content tells a second call of one tool from more of the first.
  if (!piece.name || !open.name) return open
  if (piece.index === undefined && touched.has(open)) return undefined
  return (piece.whole || piece.args.trimStart().startsWith('{')) && isWhole(open.args) ? undefined : open
}

function differs(a: number | undefined, b: number | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b
}

function renames(call: OpenCall, piece: Piece): boolean {
  return call.name !== '' && piece.name !== '' && call.name !== piece.name
}

function isWhole(args: string): boolean {
  try {
    return isObject(JSON.parse(args))
  } catch {
    return false
  }
}
