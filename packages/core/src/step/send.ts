import { deepFreeze } from '../freeze.ts'
import type { Open } from '../freeze.ts'
import type { StepRequest } from '../hooks.ts'
import type { Json } from '../json.ts'
import { callsOf } from '../message.ts'
import type { AssistantMessage, Message } from '../message.ts'
import type { LLMStep, ModelPart, ModelRequest, ToolSpec } from '../model.ts'
import { inspect, isOpaque } from '../session/pairs.ts'
import type { Sound } from '../session/pairs.ts'
import type { Tool } from '../tool/define.ts'
import { authorOf, mishap } from './author.ts'
import { checkRequest } from './check.ts'
import { isLegalName, toolNames } from './names.ts'
import type { ToolNames } from './names.ts'

/** A request as it goes to the model, and the way back from its tool names to ours. */
export interface Outgoing {
  readonly request: ModelRequest
  readonly fromProvider: (name: string) => string
}

/**
 * The request in the model's terms: tools as specs, names that every provider accepts, opaque data only for the provider that wrote it.
 *
 * @param author who last changed the request, for the error
 * @param known what is known of the history
 * @throws ModelError, not retryable, when the request is one that a provider would refuse; it is not sent
 */
export function outgoing(
  { model, system, messages, tools, toolChoice, settings }: StepRequest,
  author: string,
  known: Sound | undefined,
): Outgoing {
  const legal = legalSpecs(tools)
  const history = inspect(messages, known)
  const isLegal = legal && history.problem === undefined && history.illegal.length === 0
  const names = isLegal ? unchanged : mapped(tools, messages)
  const choice = typeof toolChoice === 'object' ? { toolName: names.toProvider(toolChoice.toolName) } : toolChoice
  const request: Open<ModelRequest> = {
    messages: isLegal && isAllFor(model.provider, history) ? messages : forProvider(messages, model.provider, names),
    tools: isLegal ? legal : tools.map((tool) => specOf(tool, names)),
  }
  if (system !== undefined) request.system = system
  if (choice !== undefined) request.toolChoice = choice
  if (settings !== undefined) request.settings = settings
  const problem = checkRequest(request, known)
  if (problem === undefined) return { request, fromProvider: names.fromProvider }
  throw mishap(authorOf(model), `was not sent the request that ${author} made: ${problem}`, 'bad_request', false)
}

const unchanged: ToolNames = { toProvider: (name) => name, fromProvider: (name) => name }

/** Made once for each list of tools: mostly the one of an agent, step after step. */
const specs = new WeakMap<StepRequest['tools'], readonly ToolSpec[]>()

/** The tools as the model sees them, where every provider accepts their names. */
function legalSpecs(tools: StepRequest['tools']): readonly ToolSpec[] | undefined {
  let made = specs.get(tools)
  if (!made && tools.every(({ name }) => isLegalName(name))) {
    made = deepFreeze(tools.map((tool) => specOf(tool, unchanged)))
    specs.set(tools, made)
  }
  return made
}

function specOf({ name, description, schema }: Tool, names: ToolNames): ToolSpec {
  return { name: names.toProvider(name), description, inputSchema: schema.jsonSchema }
}

function mapped(tools: StepRequest['tools'], messages: readonly Message[]): ToolNames {
  return toolNames([...tools.map(({ name }) => name), ...messages.flatMap(callsOf).map(({ toolName }) => toolName)])
}

/** Is there nothing in it that means something only to another provider? */
function isAllFor(provider: string, { opaque }: Sound): boolean {
  return !opaque || (opaque.size === 1 && opaque.has(provider))
}

function forProvider(messages: readonly Message[], provider: string, names: ToolNames): readonly Message[] {
  return messages.flatMap((message) => {
    const own = isForeign(message, provider) ? withoutOpaque(message) : message
    // Nothing but another provider's reasoning: there is nothing left to send.
    if (own.role === 'assistant' && own.content.length === 0) return []
    const content = own.content.map((part) =>
      'toolName' in part ? { ...part, toolName: names.toProvider(part.toolName) } : part,
    )
    return { ...own, content } as Message
  })
}

/** Has another provider left in it what means something only to itself? */
function isForeign(message: Message, provider: string): message is AssistantMessage {
  return message.role === 'assistant' && message.provider !== provider && isOpaque(message)
}

function withoutOpaque(message: AssistantMessage): AssistantMessage {
  const content = message.content.filter((part) => part.type !== 'reasoning').map(clear)
  return { ...clear(message), content: content.filter((part) => part.type !== 'text' || part.text !== '') }
}

/** The same without opaque data. */
function clear<Whole extends object>(whole: Whole): Whole {
  const { providerData: _, ...rest } = whole as Whole & { readonly providerData?: Json }
  return rest as Whole
}

/** A step that a layer supplies, as the parts that a model would have sent. */
export async function* partsOf({ message, usage, finishReason, rawFinishReason }: LLMStep): AsyncGenerator<ModelPart> {
  for (const part of message.content) {
    if (part.type === 'text') {
      const { providerData } = part
      yield { type: 'text_delta', text: part.text }
      yield { type: 'text_end', ...(providerData !== undefined && { providerData }) }
    } else if (part.type === 'tool_call') yield { ...part, args: part.rawArgs ?? part.args }
    else {
      const { text: _, ...end } = part
      yield { ...clear(part), type: 'reasoning_delta' }
      yield { ...end, type: 'reasoning_end' }
    }
  }
  yield { type: 'usage', usage }
  const { providerData } = message
  yield {
    type: 'finish',
    reason: finishReason,
    ...(rawFinishReason !== undefined && { rawReason: rawFinishReason }),
    ...(providerData !== undefined && { providerData }),
  }
}
