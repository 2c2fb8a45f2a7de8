import type { AISDKCallOptions, AISDKModel } from '../ai-sdk.ts'
import type { Version } from '../model.ts'

export const versions: readonly Version[] = ['v2', 'v3', 'v4']

/** A finish in the terms of all versions. */
export interface Finish {
  readonly reason: string
  /** The provider's own word, which v2 has no place for. */
  readonly raw?: string
  readonly input?: number
  readonly cached?: number
  readonly output?: number
  readonly reasoning?: number
}

export function finishPart(version: Version, { reason, raw, input, cached, output, reasoning }: Finish): object {
  const usage =
    version === 'v2'
      ? {
          inputTokens: input,
          cachedInputTokens: cached,
          outputTokens: output,
          reasoningTokens: reasoning,
          totalTokens: undefined,
        }
      : {
          inputTokens: { total: input, noCache: undefined, cacheRead: cached, cacheWrite: undefined },
          outputTokens: { total: output, text: undefined, reasoning },
        }
  return { type: 'finish', finishReason: version === 'v2' ? reason : { unified: reason, raw }, usage }
}

export interface StandIn {
  readonly model: AISDKModel
  /** What it was called with, oldest first. */
  readonly calls: AISDKCallOptions[]
  /** The reasons that its streams were cancelled for. */
  readonly cancelled: unknown[]
}

/** A model made by hand that answers every call with these parts. */
export function standIn(
  version: Version,
  parts: readonly unknown[],
  { open = false }: { readonly open?: boolean } = {},
): StandIn {
  return answering(version, (cancelled) => streamOf(parts, { open, cancelled }))
}

/** A model made by hand whose stream, or whose failure, is made call by call. */
export function answering(
  specificationVersion: Version,
  answer: (cancelled: unknown[]) => ReadableStream<unknown> | Promise<ReadableStream<unknown>>,
): StandIn {
  const [calls, cancelled]: [AISDKCallOptions[], unknown[]] = [[], []]
  const model: AISDKModel = {
    specificationVersion,
    provider: 'acme.chat',
    modelId: 'm1',
    async doStream(options) {
      calls.push(options)
      return { stream: await answer(cancelled), response: { headers: { 'x-request-id': 'r1' } } }
    },
  }
  return { model, calls, cancelled }
}

export function streamOf(
  parts: readonly unknown[],
  { open, cancelled }: { readonly open: boolean; readonly cancelled: unknown[] },
): ReadableStream<unknown> {
  return new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      if (!open) controller.close()
    },
    cancel: (reason: unknown) => void cancelled.push(reason),
  })
}

export function text(id: string, ...deltas: readonly string[]): object[] {
  return block('text', id, deltas)
}

export function reasoning(id: string, ...deltas: readonly string[]): object[] {
  return block('reasoning', id, deltas)
}

function block(kind: string, id: string, deltas: readonly string[]): object[] {
  return [
    { type: `${kind}-start`, id },
    ...deltas.map((delta) => ({ type: `${kind}-delta`, id, delta })),
    { type: `${kind}-end`, id },
  ]
}

export function toolCall(toolCallId: string, toolName: string, ...deltas: readonly string[]): object[] {
  return [
    { type: 'tool-input-start', id: toolCallId, toolName },
    ...deltas.map((delta) => ({ type: 'tool-input-delta', id: toolCallId, delta })),
    { type: 'tool-input-end', id: toolCallId },
    { type: 'tool-call', toolCallId, toolName, input: deltas.join('') },
  ]
}
