/**
 * Duty: the words of a quarantine: a worker was started several times, apart from others, and never committed.
 * The evidence goes to the dead letters, with the input that was taken out of the mailbox if there was one.
 */

import type { WorkerLog } from '../../core/definition/worker-log.ts'
import { TerminalError } from '../../core/errors.ts'
import type { Assignment, RunPosition } from '../../core/ports/ports.ts'
import type { Failure } from '../../core/worker/run/failure.ts'

/** `step`: what the worker would have done next, each time: a message, a model call, tool calls. */
export function quarantined(assignment: Assignment, step: string): TerminalError {
  const { lastWords } = assignment
  const why =
    lastWords === null
      ? 'If no node died, the logs of the nodes say what blocked them.'
      : `The last of these starts: ${lastWords}.`
  return new TerminalError(
    `worker ${assignment.name} (${assignment.workerId}) was started ${startsBefore(assignment)} times and never committed; the next step was ${step}. It was quarantined. ${why}`,
    { code: 'poison' },
  )
}

export function evidenceJson(
  assignment: Assignment,
  position: RunPosition,
  step: string,
  failure: Failure | undefined,
): string {
  const { crashes, epoch, kind, name } = assignment
  const starts = startsBefore(assignment)
  return JSON.stringify({
    step,
    run: position.run,
    kind,
    name,
    starts,
    crashes,
    epoch,
    failure,
    ...(assignment.lastWords !== null && { lastWords: assignment.lastWords }),
  })
}

/** Logs a suspect before it starts: if it takes the node down, this line is all that names it. */
export function warnOfSuspect(assignment: Assignment, log: WorkerLog): void {
  const { purpose, suspect, sessionId, workerId, kind, run } = assignment
  if (purpose === 'cancelled' || !(suspect || purpose === 'poison')) return
  const starts = startsBefore(assignment)
  const where = { session: sessionId, worker: workerId, kind, run, starts }
  if (purpose === 'run')
    log.warn('a worker is started apart from other suspects: its last starts recorded nothing', where)
  else log.error('a run fails with poison: no start of its worker recorded anything; see troupe mailbox dead', where)
}

/** How often the worker was started before this claim, which counts as a start too. */
function startsBefore({ starts }: Assignment): number {
  return starts - 1
}
