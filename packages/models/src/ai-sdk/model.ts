/**
 * A language model of the AI SDK: what `LanguageModelV2`, `V3` and `V4` of `@ai-sdk/provider` have in common, so that any provider's model fits
 * without that package.
 */
export interface AISDKModel {
  readonly specificationVersion: 'v2' | 'v3' | 'v4'
  readonly provider: string
  readonly modelId: string
  doStream(options: AISDKCallOptions): PromiseLike<{ readonly stream: ReadableStream<unknown> }>
}

/** What a call of an {@link AISDKModel} is made with. The parts of a prompt differ between the versions. */
export interface AISDKCallOptions {
  readonly prompt: readonly object[]
  readonly tools?: readonly object[]
  readonly toolChoice?: object
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly stopSequences?: readonly string[]
  readonly seed?: number
  readonly providerOptions?: object
  readonly abortSignal?: AbortSignal
}

export type Version = AISDKModel['specificationVersion']
