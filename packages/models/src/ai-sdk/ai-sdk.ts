import { ConfigError } from '@koagent/core'
import type { Model } from '@koagent/core'
import { withDefaults } from '../settings.ts'
import type { WithSettings } from '../settings.ts'
import { isObject } from '../values.ts'
import { answerReader } from './answer.ts'
import { streamFailures } from './failure.ts'
import type { AISDKCallOptions, AISDKModel } from './model.ts'
import { callOptions } from './request.ts'
import { answerParts } from './stream.ts'

export type { AISDKCallOptions, AISDKModel }

/**
 * Any language model of the AI SDK (specification v2, v3 or v4) as a model of koagent: `fromAISDK(google('gemini-2.5-pro'))`.
 *
 * - Signatures, item ids and whatever else a provider hangs on its content as `providerMetadata` go back to it as `providerOptions`.
 * - Calls that the provider executes itself, with their results, are kept in their place and go back; the run does not execute them.
 * - `settings.extra` is passed as `providerOptions`, so its fields are providers: `{ google: { thinkingConfig: … } }`.
 * - `cache: true` becomes Anthropic's cache mark, which other providers do not look at.
 * - URLs of images and files go to the provider as they are; nothing is downloaded.
 * - Sources, files, warnings and parts of unknown types come as `raw`.
 *
 * Contract: no retries; one call of `doStream` per step. A finish that gives no reason ('unknown', or 'other' without the provider's own word) is what the
 * AI SDK makes of a stream that broke off, so it throws `model_stream_cut`.
 *
 * @throws ConfigError for what is no such model, such as the id of a gateway's model
 */
export function fromAISDK(model: AISDKModel, { settings }: WithSettings = {}): Model {
  check(model)
  const { provider, modelId, specificationVersion: version } = model
  const failed = streamFailures(provider, modelId)
  return {
    provider,
    id: modelId,
    stream: (request, { signal }) =>
      answerParts({
        send: (abortSignal) =>
          model.doStream({ ...callOptions(withDefaults(request, settings), { provider, version }), abortSignal }),
        reader: (headers) => answerReader(failed, headers),
        failed,
        signal,
      }),
  }
}

const versions: readonly unknown[] = ['v2', 'v3', 'v4'] satisfies AISDKModel['specificationVersion'][]

function check(model: unknown): void {
  const what = 'fromAISDK takes a language model of an AI SDK provider, specification v2 to v4'
  if (typeof model === 'string') {
    throw new ConfigError(`${what}, and got the id '${model}': make a model of it, such as gateway('${model}')`)
  }
  if (!isObject(model) || typeof model['doStream'] !== 'function') {
    throw new ConfigError(`${what}, and got ${kindOf(model)} without doStream: call the provider first, such as google('…')`)
  }
  if (!versions.includes(model['specificationVersion'])) {
    throw new ConfigError(
      `${what}, and got one of ${String(model['specificationVersion'])}: use a version of the provider's package that fits`,
    )
  }
  if (typeof model['provider'] !== 'string' || typeof model['modelId'] !== 'string') {
    throw new ConfigError(`${what}, and got one without a name: provider and modelId must be text`)
  }
}

function kindOf(value: unknown): string {
  return value === null ? 'null' : `a value of type ${typeof value}`
}
