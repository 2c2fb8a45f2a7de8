import { ModelError } from '@koagent/core'
import type {
  AssistantMessage,
  ContentPart,
  Json,
  JsonObject,
  Message,
  ModelRequest,
  ModelSettings,
  ToolChoice,
  ToolResultPart,
  ToolSpec,
} from '@koagent/core'

/** What a client sent is no chat-completions request. */
export class BadRequestError extends ModelError {
  constructor(message: string) {
    super(message, { status: 400, retryable: false })
  }
}

/** What a client asks for. */
export interface ChatRequest {
  readonly request: ModelRequest
  readonly stream: boolean
  /** Shall a stream end with a chunk that tells the usage? */
  readonly includeUsage: boolean
}

/** Reads a chat-completions body. Throws a `BadRequestError`. */
export function chatRequest(body: unknown): ChatRequest {
  if (!isObject(body)) throw new BadRequestError('the body must be a JSON object')
  const { messages } = body
  if (!Array.isArray(messages) || messages.length === 0)
    throw new BadRequestError("'messages' must be an array with at least one message")
  const chat = messages.map((message, at) => {
    if (isObject(message) && typeof message['role'] === 'string') return message
    throw new BadRequestError(`'messages[${at}]' must be an object with a role`)
  })
  const firstOther = chat.findIndex(({ role }) => role !== 'system' && role !== 'developer')
  const leading = firstOther < 0 ? chat : chat.slice(0, firstOther)
  const choice = toolChoiceOf(body['tool_choice'])
  const options = body['stream_options']
  const request = {
    ...(leading.length > 0 && { system: leading.map(({ content }) => textOf(content)).join('\n\n') }),
    messages: messagesOf(chat.slice(leading.length)),
    tools: toolsOf(body['tools']),
    ...(choice !== undefined && { toolChoice: choice }),
    settings: settingsOf(body),
  }
  return { request, stream: body['stream'] === true, includeUsage: isObject(options) && options['include_usage'] === true }
}

function messagesOf(chat: readonly JsonObject[]): Message[] {
  const messages: Message[] = []
  const toolNames = new Map<string, string>()
  for (const [at, { role, content, ...rest }] of chat.entries()) {
    if (role === 'system' || role === 'developer')
      messages.push({ role: 'system', content: [{ type: 'text', text: textOf(content) }] })
    else if (role === 'user') messages.push({ role: 'user', content: partsOf(content) })
    else if (role === 'assistant') {
      const message = assistantMessage(content, rest['tool_calls'])
      for (const part of message.content) if (part.type === 'tool_call') toolNames.set(part.callId, part.toolName)
      messages.push(message)
    } else if (role === 'tool') {
      const callId = String(rest['tool_call_id'] ?? '')
      const toolName = toolNames.get(callId)
      if (toolName === undefined)
        throw new BadRequestError(`'messages[${at}]' answers the call '${callId}', which no message before it makes`)
      const result: ToolResultPart = {
        type: 'tool_result',
        callId,
        toolName,
        content: partsOf(content),
        isError: isFailure(textOf(content)),
      }
      // The results of one answer stand in one message here, in several there.
      const last = messages.at(-1)
      if (last?.role === 'tool') messages[messages.length - 1] = { role: 'tool', content: [...last.content, result] }
      else messages.push({ role: 'tool', content: [result] })
    } else throw new BadRequestError(`'messages[${at}]' has the unknown role '${String(role)}'`)
  }
  return messages
}

function assistantMessage(content: Json | undefined, calls: Json | undefined): AssistantMessage {
  const text = textOf(content)
  const made = Array.isArray(calls) ? calls.filter(isObject) : []
  return {
    role: 'assistant',
    content: [
      ...(text ? [{ type: 'text' as const, text }] : []),
      ...made.map(({ id, function: called }) => {
        const { name, arguments: json } = isObject(called) ? called : {}
        return {
          type: 'tool_call' as const,
          callId: String(id ?? ''),
          toolName: String(name ?? ''),
          ...argumentsFrom(String(json ?? '')),
        }
      }),
    ],
  }
}

function argumentsFrom(json: string): { args: JsonObject; rawArgs?: string } {
  try {
    const args: unknown = JSON.parse(json)
    if (isObject(args)) return { args }
  } catch {
    // Told below, as the model wrote it.
  }
  return { args: {}, rawArgs: json }
}

/** Chat completions have no field for it, so it is told by how the texts of failures begin. */
function isFailure(text: string): boolean {
  return /^(?:Permission denied|Blocked by hook|(?:\w*Error|error)): |^The call was carried out, but its result was withheld/.test(
    text,
  )
}

function partsOf(content: Json | undefined): ContentPart[] {
  if (!Array.isArray(content)) return [{ type: 'text', text: textOf(content) }]
  return content.filter(isObject).map(({ type, text, image_url: image }) => {
    if (type === 'text') return { type, text: String(text ?? '') }
    const url = isObject(image) ? image['url'] : undefined
    if (typeof url !== 'string') return { type: 'text', text: `[${String(type)}]` }
    const [, mediaType, data] = /^data:([^;,]+);base64,(.*)$/s.exec(url) ?? []
    return mediaType && data ? { type: 'image', mediaType, data } : { type: 'image', mediaType: 'image/*', url }
  })
}

function textOf(content: Json | undefined): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part) => (isObject(part) && typeof part['text'] === 'string' ? part['text'] : '')).join('')
}

function toolsOf(tools: Json | undefined): ToolSpec[] {
  if (!Array.isArray(tools)) return []
  return tools.map((tool, at) => {
    const described = isObject(tool) ? tool['function'] : undefined
    if (!isObject(described) || typeof described['name'] !== 'string')
      throw new BadRequestError(`'tools[${at}]' must be a function with a name`)
    const { name, description, parameters } = described
    return {
      name: String(name),
      description: String(description ?? ''),
      inputSchema: isObject(parameters) ? parameters : { type: 'object', properties: {} },
    }
  })
}

function toolChoiceOf(choice: Json | undefined): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  const called = isObject(choice) ? choice['function'] : undefined
  return isObject(called) && typeof called['name'] === 'string' ? { toolName: called['name'] } : undefined
}

function settingsOf(body: JsonObject): ModelSettings {
  const { max_completion_tokens: newer, max_tokens: older, temperature, top_p: topP, seed, stop } = body
  const maxOutputTokens = newer ?? older
  return {
    ...(typeof maxOutputTokens === 'number' && { maxOutputTokens }),
    ...(typeof temperature === 'number' && { temperature }),
    ...(typeof topP === 'number' && { topP }),
    ...(typeof seed === 'number' && { seed }),
    ...(typeof stop === 'string' && { stop: [stop] }),
    ...(Array.isArray(stop) && { stop: stop.map(String) }),
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
