/**
 * Duty: inputs that steer the open run of a handler: which of them its run receives, and what is recorded of a message whose receive one of them
 * interrupted.
 * HANDLER-STEERS-1 A receive that ends by itself counts, whatever arrived while it ran. One that throws after an interruption counts as received,
 *                  without what it asked for, and its run goes on with the message that interrupted it.
 */
import type { HandlerDefinition } from '../../core/definition/define-worker.ts'
import { fitInput } from '../../core/definition/kind-types.ts'
import type { EventNote } from '../../core/event/event.ts'
import { receivedEntry } from '../../core/history/entry.ts'
import type { Mail } from '../../core/worker/message/message.ts'
import { emptyStep, type Step } from '../turn/step/step.ts'
import type { Turn } from '../turn/turn.ts'
import type { FitsKind } from '../turn/turn-steers.ts'
import { attemptsOf, withoutAttempts } from './attempts.ts'
import { nameOfMail, pendingAfter, type RecordedMail } from './recorded-mail.ts'

/** Tells the turn, and returns, which inputs fit the kind. One that does not fit begins a run of its own, and that run fails. */
export function judgeInputs({ assignment, steers }: Turn, definition: HandlerDefinition): FitsKind {
  const fits: FitsKind = ({ message, malformed }) =>
    malformed === undefined && message.kind === 'input' && fitInput(definition, assignment.kind, message.value).ok
  // Without a schema nearly everything fits.
  if (definition.input !== undefined) steers.judgeBy(fits)
  return fits
}

/** True if the message that interrupts the receive is there; then the run receives it next. */
export async function isInterrupted({ steers }: Turn, fits: FitsKind): Promise<boolean> {
  if (!steers.interrupts) return false
  await steers.read(fits)
  return steers.interrupts
}

/** True for an input that the run in progress receives before its turn; false for one that a retried run receives again. */
export function isSteer({ lane, message }: Mail): boolean {
  return lane === 'inbox' && message.kind === 'input' && message.when !== undefined
}

/** How the mail leaves its lane. */
export function consumed(
  mail: Mail,
): Pick<Step, 'signalsConsumed' | 'inputsConsumed' | 'steersTaken' | 'resultsConsumed'> {
  const steers = isSteer(mail)
  return {
    signalsConsumed: mail.lane === 'signals' ? 1 : 0,
    inputsConsumed: mail.lane === 'inbox' && !steers ? 1 : 0,
    steersTaken: steers ? [mail.position] : undefined,
    resultsConsumed: mail.lane === 'results' ? [mail.position] : [],
  }
}

export function interruptedStep({ assignment, position }: Turn, mail: RecordedMail, notes: readonly EventNote[]): Step {
  const name = nameOfMail(mail)
  return {
    ...emptyStep({
      ...position,
      ...withoutAttempts(name, position),
      runState: 'ProcessingUserMessage',
      open: true,
      pendingCalls: pendingAfter(mail, position),
      signalsOpen: position.signalsOpen - (mail.lane === 'signals' ? 1 : 0),
    }),
    ...consumed(mail),
    entries: [receivedEntry(position.run, assignment.epoch, Date.now(), mail.json, { interrupted: true })],
    failure: position.open && attemptsOf(name, position) === 0 ? undefined : null,
    notes,
  }
}
