import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'

/** A request, with what says which version of the API it is in. */
export interface VersionedRequest {
  readonly body: MessageCreateParamsStreaming & { readonly anthropic_version?: string }
  readonly headers?: Record<string, string>
}

/**
 * Asks for the version before 2026-10-21, which the SDK asks for by itself, where that one would refuse the request: it does not let one say how tokens are
 * picked, whatever the model, and older models on Bedrock know no version but the first (https://platform.claude.com/docs/en/api/migration-2026-10-21).
 * `settings.extra.anthropic_version` wins on platforms that read it from the body.
 */
export function versioned(body: MessageCreateParamsStreaming, host: string): VersionedRequest {
  if (host.endsWith('.amazonaws.com')) return { body: { anthropic_version: 'bedrock-2023-05-31', ...body } }
  if (!saysHowToPick(body)) return { body }
  if (host.endsWith('.googleapis.com')) return { body: { anthropic_version: 'vertex-2023-10-16', ...body } }
  return { body, headers: { 'anthropic-version': '2023-06-01' } }
}

function saysHowToPick(body: object): boolean {
  return Object.entries(body).some(([field, value]) => /^(temperature|top_[pk])$/.test(field) && value !== undefined)
}
