import type { Model } from '@koagent/core'
import type OpenAI from 'openai'
import { callParts } from '../call/call.ts'
import { failures } from '../model-error/failure.ts'
import { withDefaults } from '../settings.ts'
import type { WithSettings } from '../settings.ts'
import { chatReader } from './answer.ts'
import { openaiHost, providerOf } from './client.ts'
import { chatRequest } from './request.ts'
import type { Dialect } from './request.ts'

/** What is said of a model, apart from the client that it is reached by. */
export interface Named extends WithSettings {
  readonly model: string
  readonly provider?: string
}

/** A model that is spoken to by chat completions, through this client. */
export function chatModel(client: OpenAI, { model, provider = providerOf(client), settings }: Named): Model {
  const { host } = new URL(client.baseURL)
  const isOpenAI = host === openaiHost
  const failed = failures(provider, model)
  const dialect: Dialect = {
    model,
    provider,
    systemAnywhere: isOpenAI,
    maxTokensField: isOpenAI || host.endsWith('.openai.azure.com') ? 'max_completion_tokens' : 'max_tokens',
  }
  return {
    provider,
    id: model,
    stream: (request, { signal }) =>
      callParts({
        send: (callSignal) =>
          client.chat.completions
            .create(chatRequest(withDefaults(request, settings), dialect), { signal: callSignal, maxRetries: 0 })
            .asResponse(),
        reader: (headers) => chatReader((what) => failed.garbage(what, headers)),
        failed,
        signal,
      }),
  }
}
