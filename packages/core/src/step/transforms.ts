import { setOrigin, toError } from '../errors.ts'
import type { Pass } from '../chain/pass.ts'
import type { ModelPart } from '../model.ts'

/**
 * A model's parts behind the transforms of a pass: those of the innermost layer first. A transform's failure is put down to its layer.
 *
 * @param outside only transforms of layers further out than this index
 */
export function transformed(source: AsyncIterable<ModelPart>, pass: Pass, outside: number = Infinity): AsyncIterable<ModelPart> {
  const transforms = pass.transforms
    .filter(({ layer }) => layer.index < outside)
    .toSorted((a, b) => b.layer.index - a.layer.index)
  if (transforms.length === 0) return source
  let blamed = false
  let parts = watched(source, () => void (blamed = true))
  for (const { layer, transform } of transforms) {
    parts = watched(transform(parts), (thrown) => {
      if (blamed) return
      blamed = true
      const error = toError(thrown, `a transform of middleware '${layer.name}'`)
      setOrigin(error, { middleware: layer.name, point: pass.name })
      pass.run.hookFailed(error, layer, pass)
    })
  }
  return parts
}

/** The same parts; tells when they fail. */
function watched(parts: AsyncIterable<ModelPart>, failed: (error: unknown) => void): AsyncIterable<ModelPart> {
  return {
    [Symbol.asyncIterator]() {
      const iterator = parts[Symbol.asyncIterator]()
      return {
        next: () =>
          iterator.next().catch((error: unknown) => {
            failed(error)
            throw error
          }),
        return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
      }
    },
  }
}
