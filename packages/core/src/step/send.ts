import { ModelError } from '../errors.ts'
import type { StepRequest } from '../hooks.ts'
import { callsOf } from '../message.ts'
import type { AssistantMessage, AssistantPart, Message } from '../message.ts'
import type { LLMStep, Model, ModelPart, ModelRequest } from '../model.ts'
import { inspect } from '../session/pairs.ts'
import { checkRequest } from './check.ts'
import { isLegalName, toolNames } from './names.ts'

/** A request as it goes to the model, and the way back from its tool names to ours. */
export interface Outgoing {
  readonly request: ModelRequest
  readonly fromProvider: (name: string) => string
}

/**
 * The request in the model's terms: tools as specs, names that every provider accepts, opaque data only for the provider that wrote it.
 *
 * @param author who last changed the request, for the error
 * @throws ModelError, not retryable, when the request is one that a provider would refuse; it is not sent
 */
export function outgoing({ model, system, messages, tools, toolChoice, settings }: StepRequest, author: string): Outgoing {
  const names = namesOf(
    tools.map((tool) => tool.name),
    messages,
  )
  const toProvider = (name: string): string => names?.toProvider(name) ?? name
  const request: ModelRequest = {
    ...(system === undefined ? {} : { system }),
    messages: forProvider(messages, model, names ? toProvider : undefined),
    tools: tools.map(({ name, description, schema }) => ({
      name: toProvider(name),
      description,
      inputSchema: schema.jsonSchema,
    })),
    ...(toolChoice === undefined
      ? {}
      : { toolChoice: typeof toolChoice === 'object' ? { toolName: toProvider(toolChoice.toolName) } : toolChoice }),
    ...(settings === undefined ? {} : { settings }),
  }
  const problem = checkRequest(request)
  if (problem !== undefined) {
    throw new ModelError(`the request that ${author} made was not sent to model '${model.provider}/${model.id}': ${problem}`, {
      code: 'bad_request',
      retryable: false,
      provider: model.provider,
    })
  }
  return { request, fromProvider: (name) => names?.fromProvider(name) ?? name }
}

function namesOf(tools: readonly string[], messages: readonly Message[]): ReturnType<typeof toolNames> | undefined {
  if (tools.every(isLegalName) && !inspect(messages).illegal) return undefined
  const called = messages.flatMap((message) =>
    message.role === 'assistant' ? callsOf(message).map((call) => call.toolName) : [],
  )
  return toolNames([...tools, ...called])
}

/** The same list where nothing needs changing, which is the rule. */
function forProvider(
  messages: readonly Message[],
  { provider }: Model,
  toProvider: ((name: string) => string) | undefined,
): readonly Message[] {
  if (!toProvider && !messages.some((message) => isForeign(message, provider))) return messages
  const renamed = <Part extends { readonly type: string }>(part: Part): Part =>
    toProvider && 'toolName' in part ? { ...part, toolName: toProvider(part.toolName as string) } : part
  return messages.flatMap((message): Message[] => {
    if (message.role === 'tool') return [{ ...message, content: message.content.map(renamed) }]
    if (message.role !== 'assistant') return [message]
    const own = isForeign(message, provider) ? withoutOpaque(message) : message
    // Nothing but another provider's reasoning: there is nothing left to send.
    return own.content.length > 0 ? [{ ...own, content: own.content.map(renamed) }] : []
  })
}

function isForeign(message: Message, provider: string): message is AssistantMessage {
  if (message.role !== 'assistant' || message.provider === provider) return false
  return (
    message.providerData !== undefined ||
    message.content.some((part) => part.type === 'reasoning' || ('providerData' in part && part.providerData !== undefined))
  )
}

/** Reasoning and opaque data mean something only to the provider that wrote them. */
function withoutOpaque({ providerData: _opaque, ...message }: AssistantMessage): AssistantMessage {
  const content = message.content.flatMap((part): AssistantPart[] => {
    if (part.type === 'reasoning') return []
    if (part.type !== 'tool_call' || part.providerData === undefined) return [part]
    const { providerData: _own, ...call } = part
    return [call]
  })
  return { ...message, content }
}

/** A step that a layer supplies, as the parts that a model would have sent. */
export async function* partsOf({ message, usage, finishReason, rawFinishReason }: LLMStep): AsyncGenerator<ModelPart> {
  for (const part of message.content) {
    if (part.type === 'text') yield { type: 'text_delta', text: part.text }
    else if (part.type === 'tool_call') yield { ...part, args: part.rawArgs ?? part.args }
    else {
      const block = part.blockId === undefined ? {} : { blockId: part.blockId }
      yield { type: 'reasoning_delta', text: part.text, ...block }
      yield { type: 'reasoning_end', ...block, ...(part.providerData === undefined ? {} : { providerData: part.providerData }) }
    }
  }
  yield { type: 'usage', usage }
  yield {
    type: 'finish',
    reason: finishReason,
    ...(rawFinishReason === undefined ? {} : { rawReason: rawFinishReason }),
    ...(message.providerData === undefined ? {} : { providerData: message.providerData }),
  }
}
