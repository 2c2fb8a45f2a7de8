import { setOrigin, toError } from '../errors.ts'
import type { Pass } from '../chain/pass.ts'
import type { ModelPart } from '../model.ts'
import type { WorkSignal } from '../signal.ts'
import { close } from './read.ts'

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
  if (pass.transforms.length === 0) return source
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
async function* watched(make: () => AsyncIterable<ModelPart>, failed: (error: unknown) => unknown): AsyncGenerator<ModelPart> {
  try {
    yield* make()
  } catch (error) {
    throw failed(error)
  }
}

/** The same parts, until the work's signal aborts. */
async function* ending(parts: AsyncIterable<ModelPart>, work: WorkSignal): AsyncGenerator<ModelPart> {
  const iterator = parts[Symbol.asyncIterator]()
  let done: boolean | undefined
  try {
    for (;;) {
      const next = await work.wait(iterator.next())
      done = next.done
      if (next.done) return
      yield next.value
    }
  } finally {
    // Not awaited: an iterator that hangs in next() answers return() only after that.
    if (!done) void close(iterator)
  }
}
