import type { ModelError, ModelPart } from '@koagent/core'
import { isObject } from '../values.ts'
import { continuedBy, isPlaceholder, isWhole, joinArgs, joinNames, pieceOf } from './fragments.ts'
import type { OpenCall } from './fragments.ts'

/** Puts the fragments of tool calls together. */
export interface ToolCallAssembler {
  /** Takes the `tool_calls` of one chunk, whatever that is. The deltas that came of it; none for a call before its name is known. */
  push(fragments: unknown): ModelPart[]
  /** The whole calls, in the order in which they first appeared, after what is left of their deltas. Throws when one has arguments and no name. */
  end(): ModelPart[]
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
        const call = continuedBy(piece, calls, touched) ?? begin(calls)
        touched.add(call)
        call.id ||= piece.id
        call.index ??= piece.index
        call.name = joinNames(call.name, piece.name)
        call.args = joinArgs(call.args, piece)
        call.extra ??= piece.extra
        if (!isPlaceholder(call.args)) parts.push(...newDelta(call, calls))
      }
      return parts
    },

    end() {
      const named = withoutNameless(calls, fail)
      return [
        ...named.flatMap((call) => [...newDelta(call, calls)]),
        ...named.map(({ id, streamedAs = id, name, args, extra }) => ({
          type: 'tool_call' as const,
          callId: streamedAs,
          toolName: name,
          args,
          ...(extra !== undefined && { providerData: { extra_content: extra } }),
        })),
      ]
    },
  }
}

function begin(calls: OpenCall[]): OpenCall {
  const call: OpenCall = { id: '', streamedAs: undefined, index: undefined, name: '', args: '', streamed: 0, extra: undefined }
  calls.push(call)
  return call
}

/** What of the arguments has not gone out. Two calls under one id, or without one, could not be told apart: the later come whole. */
function* newDelta(call: OpenCall, calls: readonly OpenCall[]): Generator<ModelPart> {
  const delta = call.args.slice(call.streamed)
  if (!call.name || !delta) return
  const isFirst = calls.find(({ id, streamedAs = id, name }) => name && streamedAs === call.id) === call
  if (call.streamedAs === undefined && !isFirst) return
  call.streamedAs ??= call.id
  call.streamed = call.args.length
  yield { type: 'tool_call_delta', callId: call.streamedAs, toolName: call.name, delta }
}

/** The calls that have a name. What never got one is more of an unfinished call before it, unless its id and index say that it is another. */
function withoutNameless(calls: readonly OpenCall[], fail: (what: string) => ModelError): OpenCall[] {
  const named: OpenCall[] = []
  for (const call of calls) {
    if (call.name) named.push(call)
    else if (call.args.trim()) {
      const open = named.filter(({ args }) => !isWhole(args))
      const before =
        open.findLast(({ index }) => index === call.index) ??
        (call.id === '' || call.index === undefined ? open.at(-1) : undefined)
      if (!before) throw fail(`sent a tool call without a name, with the arguments ${call.args.slice(0, 200)}`)
      before.args += call.args
    }
  }
  return named
}
