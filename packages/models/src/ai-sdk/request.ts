import type { ModelRequest, ToolChoice } from '@koagent/core'
import type { AISDKCallOptions } from './model.ts'
import { promptOf } from './prompt.ts'
import type { Recipient } from './prompt.ts'

/** The options of a call. `settings.extra` is passed as `providerOptions`. */
export function callOptions(
  { system, messages, tools, toolChoice, settings = {} }: ModelRequest,
  to: Recipient,
): AISDKCallOptions {
  const { maxOutputTokens, temperature, topP, stop, seed, extra } = settings
  return {
    prompt: promptOf(system, messages, to),
    ...(tools.length > 0 && {
      tools: tools.map(({ name, description, inputSchema }) => ({ type: 'function', name, description, inputSchema })),
      ...(toolChoice !== undefined && { toolChoice: choiceOf(toolChoice) }),
    }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
    ...(topP !== undefined && { topP }),
    ...(stop !== undefined && { stopSequences: [...stop] }),
    ...(seed !== undefined && { seed }),
    ...(extra !== undefined && { providerOptions: extra }),
  }
}

function choiceOf(choice: ToolChoice): object {
  return typeof choice === 'string' ? { type: choice } : { type: 'tool', toolName: choice.toolName }
}
