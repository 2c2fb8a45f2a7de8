import { ModelError } from '@koagent/core'
import type { ModelRequest, ToolChoice } from '@koagent/core'
import type { ResponseCreateParamsStreaming, Tool } from 'openai/resources/responses/responses'
import { withHosted } from '../settings.ts'
import { inputItems } from './input.ts'
import { reasons } from './reasons.ts'

/**
 * The body of a request to the Responses API. Fields of `settings.extra` win over ours, except for `stream`, and its
 * `tools` stand beside ours; `settings.seed`, a wish
 * at best, has no field there.
 *
 * @throws ModelError 'unsupported_setting', for stop sequences
 */
export function responsesRequest(
  { system, messages, tools, toolChoice, settings = {} }: ModelRequest,
  { provider, model }: { readonly provider: string; readonly model: string },
): ResponseCreateParamsStreaming {
  const { maxOutputTokens, temperature, topP, stop, extra } = settings
  if (stop !== undefined && stop.length > 0) {
    const what = `model '${provider}/${model}' was not asked: the Responses API knows no stop sequences (settings.stop)`
    throw new ModelError(`${what}; make the model with api: 'chat'`, { code: 'unsupported_setting', retryable: false, provider })
  }
  const reasoning = reasons(model)
  const own = tools.map(({ name, description, inputSchema }): Tool => ({
    type: 'function',
    name,
    description,
    parameters: inputSchema,
    strict: false,
  }))
  const allTools = withHosted(own, extra)
  return {
    model,
    ...(system && { instructions: system }),
    input: inputItems(messages, { provider, reasons: reasoning !== false }),
    ...(tools.length > 0 && toolChoice !== undefined && { tool_choice: choiceOf(toolChoice) }),
    ...(maxOutputTokens !== undefined && { max_output_tokens: maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { top_p: topP }),
    store: false,
    ...(reasoning && { include: ['reasoning.encrypted_content' as const] }),
    ...extra,
    ...(allTools.length > 0 && { tools: allTools }),
    stream: true,
  }
}

function choiceOf(choice: ToolChoice): NonNullable<ResponseCreateParamsStreaming['tool_choice']> {
  return typeof choice === 'string' ? choice : { type: 'function', name: choice.toolName }
}
