import type { Model } from '@koagent/core'
import type OpenAI from 'openai'
import { callParts } from '../call/call.ts'
import { failures } from '../model-error/failure.ts'
import type { Named } from '../openai-compatible/chat.ts'
import { providerOf } from '../openai-compatible/client.ts'
import { withDefaults } from '../settings.ts'
import { responsesReader } from './answer.ts'
import { responsesRequest } from './request.ts'

/** A model that is spoken to by the Responses API, through this client. */
export function responsesModel(client: OpenAI, { model, provider = providerOf(client), settings }: Named): Model {
  const failed = failures(provider, model)
  return {
    provider,
    id: model,
    stream: (request, { signal }) =>
      callParts({
        send: (callSignal) =>
          client.responses
            .create(responsesRequest(withDefaults(request, settings), { provider, model }), { signal: callSignal, maxRetries: 0 })
            .asResponse(),
        reader: (headers) => responsesReader(failed, headers),
        failed,
        signal,
      }),
  }
}
