/**
 * Duty: how a quarantine is told: a worker was started several times, apart from others, and never committed.
 * The evidence goes to the dead letters, with the input that was put aside if there is one.
 */
import { TerminalError } from '../core/errors.ts'
import type { Failure } from '../core/failure.ts'
import type { Grant } from '../core/ports.ts'
import type { RunPosition } from './step.ts'

/** `step` is what was next each time: a message, a model call, tool calls. */
export function quarantined(grant: Grant, step: string): TerminalError {
  return new TerminalError(
    // This claim, which runs nothing of it, was counted as well.
    `worker ${grant.name} (${grant.workerId}) was started ${grant.starts - 1} times and never committed; the next step was ${step}. It was quarantined. Where no node died, their logs say what blocked them.`,
    { code: 'poison' },
  )
}

export function evidenceJson(grant: Grant, position: RunPosition, step: string, failure: Failure | undefined): string {
  const { starts, crashes, epoch, kind, name } = grant
  return JSON.stringify({ step, run: position.run, kind, name, starts, crashes, epoch, failure })
}
