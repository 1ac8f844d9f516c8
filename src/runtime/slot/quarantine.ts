/**
 * Duty: how a quarantine is told, and what leads to it: a worker was started several times, apart from others, and never committed.
 * The evidence goes to the dead letters, with the input that was put aside if there is one.
 */

import type { WorkerLog } from '../../core/definition/worker-log.ts'
import { TerminalError } from '../../core/errors.ts'
import type { Assignment, RunPosition } from '../../core/ports/ports.ts'
import type { Failure } from '../../core/worker/failure.ts'

/** `step` is what was next each time: a message, a model call, tool calls. */
export function quarantined(assignment: Assignment, step: string): TerminalError {
  return new TerminalError(
    // This claim, which runs nothing of it, was counted as well.
    `worker ${assignment.name} (${assignment.workerId}) was started ${assignment.starts - 1} times and never committed; the next step was ${step}. It was quarantined. Where no node died, their logs say what blocked them.`,
    { code: 'poison' },
  )
}

export function evidenceJson(
  assignment: Assignment,
  position: RunPosition,
  step: string,
  failure: Failure | undefined,
): string {
  const { starts, crashes, epoch, kind, name } = assignment
  return JSON.stringify({ step, run: position.run, kind, name, starts, crashes, epoch, failure })
}

/** Told before it is started: what takes its node down leaves no other word of who it was. */
export function warnOfSuspect(assignment: Assignment, log: WorkerLog): void {
  const { purpose, suspect, sessionId, workerId, kind, run } = assignment
  if (purpose === 'cancelled' || !(suspect || purpose === 'poison')) return
  // This claim was counted as well.
  const starts = assignment.starts - 1
  const where = { session: sessionId, worker: workerId, kind, run, starts }
  if (purpose === 'run') log.warn('a worker is started apart from others: its last starts came to no commit', where)
  else log.error('a run fails with poison: no start of its worker came to a commit; see troupe mailbox dead', where)
}
