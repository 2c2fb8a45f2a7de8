import type { RunController } from '../controller.ts'
import { ConfigError, KoagentError } from '../errors.ts'
import type { AgentEvent } from '../event/event.ts'
import type { EventQueue } from '../event/queue.ts'
import type { RunResult } from '../result.ts'

/**
 * A run under way: its events by `for await`, its end by `result`.
 *
 * Leaving the loop cancels the run. The iterator of a failed or cancelled run ends without throwing; `result` and `text()` reject.
 */
export class Run implements AsyncIterable<AgentEvent> {
  readonly controller: RunController
  /** What the run came to. It may be left alone: it is never an unhandled rejection. */
  readonly result: Promise<RunResult>
  readonly #queue: EventQueue

  constructor(controller: RunController, queue: EventQueue, result: Promise<RunResult>) {
    this.controller = controller
    this.result = result
    this.#queue = queue
    result.catch(() => {})
  }

  /**
   * The run's events. One iterator a run; take it in the tick of `stream()` to get every event.
   *
   * @throws ConfigError when it has been taken already, or when events were lost because nobody read them
   */
  [Symbol.asyncIterator](): AsyncIterator<AgentEvent, undefined> {
    const queue = this.#queue
    if (queue.taken) throw new ConfigError('this run is being read already: one for await, or one text(), a run')
    if (queue.lost > 0) {
      throw new ConfigError(
        `${queue.lost} events of this run went by before anybody read them: take the iterator in the tick of stream()`,
      )
    }
    queue.take()
    return {
      next: () => queue.read(),
      return: async () => {
        this.controller.cancel('the consumer left the loop')
        queue.end()
        await this.result.catch(() => {})
        return { done: true, value: undefined }
      },
    }
  }

  /**
   * The answer's text, piece by piece.
   *
   * @throws what the run fails with; a KoagentError with code 'text_reset' when a retry takes back text that was given out already
   */
  async *text(): AsyncGenerator<string, void> {
    let given = false
    for await (const event of this) {
      if (event.type === 'text_delta') {
        given = true
        yield event.text
      } else if (event.type === 'step_begin') given = false
      else if (event.type === 'step_reset' && given) {
        throw new KoagentError(
          'text_reset',
          `the text given out is void (${event.reason}): read the events, where step_reset says so`,
          { runId: event.runId },
        )
      }
    }
    await this.result
  }
}
