import type { FinishReason, JsonObject, ModelPart, Usage } from '@koagent/core'

/** What is known of an answer when it ends. */
export interface Ending {
  readonly usage: Usage | undefined
  /** Why, in our words; undefined where the server did not say. */
  readonly reason: FinishReason | undefined
  /** The server's own word. */
  readonly rawReason: string
  readonly hasText: boolean
  readonly hasCalls: boolean
  readonly providerData?: JsonObject
}

/** The last parts of an answer. 'stop' beside calls is what several servers say; the calls are the truth. */
export function ending({ usage, reason, rawReason, hasText, hasCalls, providerData }: Ending): ModelPart[] {
  const said = reason ?? (hasText || hasCalls ? 'stop' : 'other')
  return [
    ...(usage ? [{ type: 'usage' as const, usage }] : []),
    {
      type: 'finish',
      reason: said === 'stop' && hasCalls ? 'tool_calls' : said,
      ...(rawReason && { rawReason }),
      ...(providerData && { providerData }),
    },
  ]
}
