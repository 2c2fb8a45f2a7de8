import type { ModelRequest, ToolChoice } from '@koagent/core'
import type {
  ChatCompletionCreateParamsStreaming,
  ChatCompletionTool,
  ChatCompletionToolChoiceOption,
} from 'openai/resources/chat/completions'
import { withHosted } from '../settings.ts'
import { chatMessages } from './messages.ts'
import type { Recipient } from './messages.ts'

/** How a request is put. */
export interface Dialect extends Recipient {
  readonly model: string
  /** OpenAI's reasoning models take only the newer name; Mistral refuses it, and others ignore it. */
  readonly maxTokensField: 'max_tokens' | 'max_completion_tokens'
}

/** The body of a chat-completions request. Fields of `settings.extra` win over ours, except for `stream`; its `tools` stand beside ours. */
export function chatRequest(request: ModelRequest, dialect: Dialect): ChatCompletionCreateParamsStreaming {
  const { system, messages, tools, toolChoice, settings = {} } = request
  const { maxOutputTokens, temperature, topP, stop, seed, extra } = settings
  const own = tools.map(({ name, description, inputSchema }): ChatCompletionTool => ({
    type: 'function',
    function: { name, description, parameters: inputSchema },
  }))
  const allTools = withHosted(own, extra)
  return {
    model: dialect.model,
    messages: chatMessages(system, messages, dialect),
    ...(tools.length > 0 && toolChoice !== undefined && { tool_choice: choiceOf(toolChoice) }),
    ...(maxOutputTokens !== undefined && { [dialect.maxTokensField]: maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    ...(stop !== undefined && { stop: [...stop] }),
    ...(seed !== undefined && { seed }),
    stream_options: { include_usage: true },
    ...extra,
    ...(allTools.length > 0 && { tools: allTools }),
    stream: true,
  }
}

function choiceOf(choice: ToolChoice): ChatCompletionToolChoiceOption {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.toolName } }
}
