/**
 * Duty: say when a worker receives an input, and which of its inputs steer the run in progress.
 * Owns: the form of the field `steered` in a record. Scripts write it (lua/shared/mail/mail.lua, turn/commit-steps.lua).
 * STEER-1 An input that steers a run stands in the mailbox like any other. The run takes it from there before its turn; if it does not come to that, the
 *         input begins a run of its own.
 */

/**
 * `queue`: the next run receives it. `steer`: the run in progress receives it, as soon as it has ended what it does now. `interrupt`: the run in
 * progress ends at once what it does, and receives it.
 */
export const sendTimes = ['queue', 'steer', 'interrupt'] as const
export type SendTime = (typeof sendTimes)[number]
/** How an input steers a run. */
export const steerings = ['steer', 'interrupt'] as const satisfies readonly SendTime[]
export type Steering = (typeof steerings)[number]

/** An input that steers the run in progress. */
export interface Steer {
  /** Its position in the lane of inputs. */
  readonly position: number
  readonly when: Steering
}

/** Positions in turn, of an input that interrupts the run with a `!` behind it. */
export const steeredForm = /^(\d+!?( \d+!?)*)?$/

const none: readonly Steer[] = []

export function decodeSteered(text: string): readonly Steer[] {
  if (text === '') return none
  return text.split(' ').map((place) => ({
    position: Number.parseInt(place, 10),
    when: place.endsWith('!') ? 'interrupt' : 'steer',
  }))
}
