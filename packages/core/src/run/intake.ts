import type { Message, UserMessage } from '../message.ts'
import type { ActiveRun } from './active-run.ts'
import { notesTaken } from './session-start.ts'

/** A user message on its way into the session. @returns why it was refused */
export async function takeIn(
  run: ActiveRun,
  message: UserMessage,
  source: 'run' | 'steer' | 'continue_run',
  notes: readonly Message[] = [],
): Promise<string | undefined> {
  const asking = run.through('on_input', run.unit, { message, source })
  const pass = asking && (await asking)
  const steering = source === 'steer' ? run.controller.steering : undefined
  if (pass?.decision?.kind === 'deny') {
    steering?.settled(false)
    return pass.decision.reason
  }
  const taken = (pass?.fields.message ?? message) as UserMessage
  const storing = run.append([...notes, taken])
  if (storing) await storing
  if (notes.length > 0) notesTaken(run)
  if (steering) {
    steering.settled(true)
    await run.emit('steer', { message: taken })
  }
  return undefined
}

/** Delivers what people have said meanwhile. */
export async function steered(run: ActiveRun): Promise<void> {
  const { steering } = run.controller
  for (let next = steering?.next; next; next = steering?.next) await takeIn(run, next, 'steer')
}

/**
 * Nothing but a word of a person keeps the run going now.
 *
 * @param isLast has it taken its last turn? Then no word can be delivered
 * @returns the end, decided in the tick in which nobody had said anything; nothing where the run goes on
 */
export function endUnlessSteered<End>(
  run: ActiveRun,
  isLast: boolean,
  end: () => End,
): End | undefined | Promise<End | undefined> {
  const message = run.controller.steering?.next
  if (!message) return end()
  if (isLast) return undefined
  return takeIn(run, message, 'steer').then((denied) => (denied === undefined ? undefined : endUnlessSteered(run, isLast, end)))
}
