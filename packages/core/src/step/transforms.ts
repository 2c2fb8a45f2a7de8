import { setOrigin, toError } from '../errors.ts'
import type { Pass } from '../chain/pass.ts'
import type { ModelPart } from '../model.ts'
import type { WorkSignal } from '../signal.ts'

/**
 * A model's parts behind the transforms of a pass: those of the innermost layer first. When the work ends, what a transform waits for ends too, so
 * that it can unwind. A transform's failure is put down to its layer and noted in the pass.
 *
 * @param outside only transforms of layers further out than this index
 */
export function transformed(
  source: AsyncIterable<ModelPart>,
  pass: Pass,
  work: WorkSignal,
  outside: number = Infinity,
): AsyncIterable<ModelPart> {
  const transforms = pass.transforms
    .filter(({ layer }) => layer.index < outside)
    .toSorted((a, b) => b.layer.index - a.layer.index)
  if (transforms.length === 0) return source
  let failed: { readonly error: unknown } | undefined
  const fromModel = (error: unknown): unknown => (failed = { error }).error
  let parts = watched(() => ending(source, work), fromModel)
  for (const { layer, transform } of transforms) {
    const inner = parts
    parts = watched(
      () => transform(inner),
      (thrown) => {
        if (failed) return thrown
        const error = toError(thrown, `a transform of middleware '${layer.name}'`)
        setOrigin(error, { middleware: layer.name, point: pass.name })
        pass.run.hookFailed(error, layer, pass)
        pass.transformError = failed = { error }
        return error
      },
    )
  }
  return parts
}

/** The same parts; tells when they fail, and throws what it is told back. */
function watched(make: () => AsyncIterable<ModelPart>, failed: (error: unknown) => unknown): AsyncIterable<ModelPart> {
  return {
    [Symbol.asyncIterator]() {
      let iterator: AsyncIterator<ModelPart>
      try {
        iterator = make()[Symbol.asyncIterator]()
      } catch (error) {
        throw failed(error)
      }
      return {
        async next() {
          try {
            return await iterator.next()
          } catch (error) {
            throw failed(error)
          }
        },
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      }
    },
  }
}

/** The same parts, until the work's signal aborts. */
function ending(parts: AsyncIterable<ModelPart>, work: WorkSignal): AsyncIterable<ModelPart> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = parts[Symbol.asyncIterator]()
      const close = async (): Promise<IteratorResult<ModelPart>> =>
        (await iterator.return?.()) ?? { done: true, value: undefined }
      return {
        async next() {
          let settled = false
          const next = iterator.next()
          void next.then(
            () => (settled = true),
            () => (settled = true),
          )
          try {
            return await work.wait(next)
          } catch (error) {
            // Not awaited: an iterator that hangs in next() answers return() only after that.
            if (!settled) void close().then(undefined, () => {})
            throw error
          }
        },
        return: close,
      }
    },
  }
}
