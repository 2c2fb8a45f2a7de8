import type { Model, ModelPart } from '@koagent/core'
import { question } from './hear.ts'
import { watchedSignal } from './listeners.ts'
import type { WatchedSignal } from './listeners.ts'
import { must, mustThrow, promptly } from './must.ts'
import { using } from './subject.ts'
import type { Check } from './subject.ts'

/** Longer than a model needs to ask for the next piece, or to send a request that it must not send. */
const pauseMs = 50

const pause = (): Promise<'paused'> => new Promise((resolve) => setTimeout(() => resolve('paused'), pauseMs))

/** An iterator of the answer. A model may also throw at once. */
function begin(model: Model, { signal }: WatchedSignal): AsyncIterator<ModelPart> {
  return model.stream(question, { signal })[Symbol.asyncIterator]()
}

async function readAll(parts: AsyncIterator<ModelPart>): Promise<void> {
  while (!(await parts.next()).done);
}

async function readUntilText(parts: AsyncIterator<ModelPart>): Promise<void> {
  for (;;) {
    const { done, value } = await promptly(parts.next(), 'the first delta')
    must(!done, 'the answer must have text, and ends without any')
    if (value.type === 'text_delta') return
  }
}

/** Reads until the model waits for its provider. The read that waits. */
async function readUntilItWaits(parts: AsyncIterator<ModelPart>): Promise<{ readonly waiting: Promise<unknown> }> {
  for (;;) {
    const next = parts.next()
    const came = await Promise.race([next, pause()])
    if (came === 'paused') return { waiting: next }
    must(!came.done, 'an answer that stays open at the provider must not end')
  }
}

function mustBeReason(thrown: unknown, reason: unknown, when: string): void {
  must(thrown === reason, `an abort ${when} must throw the signal's own reason, and throws: ${String(thrown)}`)
}

function mustHaveNone(watched: WatchedSignal, when: string): void {
  const count = watched.listeners()
  must(count === 0, `no listener may stay on the signal ${when}; ${count} do`)
}

const many = 'word '.repeat(300)

export type AbortCheckName =
  | 'an abort before the start sends nothing'
  | 'an abort while the answer is awaited'
  | 'an abort in mid-stream'
  | 'an abort between two parts'
  | 'a consumer may leave early'
  | 'no listener stays on the signal'

/** How a model takes it that nobody wants the answer any more. */
export const abortChecks: Readonly<Record<AbortCheckName, Check>> = {
  'an abort before the start sends nothing': (start) =>
    using(start, [{ text: 'One.' }], async ({ model, received }) => {
      const watched = watchedSignal()
      const reason = { because: 'enough' }
      watched.abort(reason)
      const read = async (): Promise<void> => readAll(begin(model, watched))
      mustBeReason(await mustThrow(read(), 'a call with an aborted signal'), reason, 'before the start')
      await pause()
      must(received().length === 0, 'a call with an aborted signal must send nothing, and its request came')
    }),

  'an abort while the answer is awaited': (start) =>
    using(start, [{ text: 'One.', delayMs: 60_000 }], async ({ model }) => {
      const watched = watchedSignal()
      const reason = { because: 'enough' }
      const { waiting } = await readUntilItWaits(begin(model, watched))
      watched.abort(reason)
      mustBeReason(await mustThrow(waiting, 'a call that is aborted'), reason, 'before the first part')
    }),

  'an abort in mid-stream': (start) =>
    using(start, [{ text: 'One two three.', end: 'hang' }], async ({ model }) => {
      const watched = watchedSignal()
      const reason = { because: 'enough' }
      const parts = begin(model, watched)
      await readUntilText(parts)
      const { waiting } = await readUntilItWaits(parts)
      watched.abort(reason)
      mustBeReason(await mustThrow(waiting, 'a call that is aborted'), reason, 'in mid-stream')
    }),

  'an abort between two parts': (start) =>
    using(start, [{ text: many }], async ({ model }) => {
      const watched = watchedSignal()
      const reason = { because: 'enough' }
      const parts = begin(model, watched)
      await readUntilText(parts)
      watched.abort(reason)
      mustBeReason(await mustThrow(readAll(parts), 'a call that is aborted'), reason, 'between two parts')
    }),

  'a consumer may leave early': (start) =>
    using(start, [{ text: 'One two three.', end: 'hang' }], async ({ model }) => {
      const watched = watchedSignal()
      const parts = begin(model, watched)
      await readUntilText(parts)
      await promptly(Promise.resolve(parts.return?.()), 'the end of an answer that nobody reads any more')
      const { done } = await promptly(parts.next(), 'a read after the end')
      must(done === true, 'an answer that was left must be over')
    }),

  'no listener stays on the signal': (start) =>
    using(start, [{ text: 'One two.' }, { text: 'One two.' }, { text: 'One.', end: 'cut' }], async ({ model }) => {
      const watched = watchedSignal()
      await promptly(readAll(begin(model, watched)), 'an answer')
      mustHaveNone(watched, 'after an answer')
      const left = begin(model, watched)
      await readUntilText(left)
      await left.return?.()
      mustHaveNone(watched, 'after an answer that was left early')
      await readAll(begin(model, watched)).catch(() => {})
      mustHaveNone(watched, 'after an answer that was cut off')
    }),
}
