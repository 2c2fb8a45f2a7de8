import type { JsonObject, Message, ModelRequest, ToolChoice } from '@koagent/core'
import type {
  MessageCreateParamsStreaming,
  Tool,
  ToolChoice as AnthropicChoice,
  ToolUnion,
} from '@anthropic-ai/sdk/resources/messages'
import { withHosted } from '../settings.ts'
import { isObject, textIn } from '../values.ts'
import { cacheMark, setMarks } from './cache.ts'
import type { CacheTime } from './cache.ts'
import { conversation } from './messages.ts'

/** How a request is put. */
export interface Dialect {
  readonly model: string
  readonly provider: string
  /** How long the prompt is to be kept, without being marked part by part. */
  readonly cache: CacheTime | undefined
}

/** The body of a messages request. Fields of `settings.extra` win over ours, except for `stream`; its `tools` stand beside ours. The API knows no seed. */
export function messagesRequest(request: ModelRequest, { model, provider, cache }: Dialect): MessageCreateParamsStreaming {
  const { toolChoice, settings = {} } = request
  const { maxOutputTokens, temperature, topP, stop, extra } = settings
  const mark = cacheMark(cache ?? '5m')
  const tools = request.tools.map(({ name, description, inputSchema }): Tool => ({
    name,
    description,
    input_schema: { ...inputSchema, type: 'object' },
  }))
  const asked = conversation(request.system, request.messages, { provider, mark })
  setMarks(tools, asked, cache && mark)
  const { system, messages } = asked
  const allTools = withHosted<ToolUnion>(tools, extra)
  const container = containerOf(request.messages, provider)
  return {
    model,
    max_tokens: maxOutputTokens ?? defaultMaxTokens(model),
    ...(system.length > 0 && { system }),
    messages,
    ...(tools.length > 0 && toolChoice !== undefined && { tool_choice: choiceOf(toolChoice) }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(stop !== undefined && { stop_sequences: [...stop] }),
    ...(container && { container }),
    ...extra,
    ...(allTools.length > 0 && { tools: allTools }),
    stream: true,
  }
}

function choiceOf(choice: ToolChoice): AnthropicChoice {
  if (typeof choice === 'object') return { type: 'tool', name: choice.toolName }
  return { type: choice === 'required' ? 'any' : choice }
}

/**
 * The API wants a limit. These are what the models of each generation allow at most, up to 32,000, which all since Claude 4 allow
 * (https://docs.claude.com/en/docs/about-claude/models/overview): more would be refused.
 */
function defaultMaxTokens(model: string): number {
  if (/claude-3-(opus|sonnet|haiku)/.test(model)) return 4096
  return model.includes('claude-3-') ? 8192 : 32_000
}

/** The sandbox that the calls came from that are answered now. The API refuses their results without it (anthropics/anthropic-sdk-typescript#1114). */
function containerOf(messages: readonly Message[], provider: string): string {
  const last = messages.findLast((message) => message.role === 'assistant')
  if (last?.provider !== provider || !last.content.some(({ type }) => type === 'tool_call')) return ''
  const { container }: JsonObject = isObject(last.providerData) ? last.providerData : {}
  return textIn(container)
}
