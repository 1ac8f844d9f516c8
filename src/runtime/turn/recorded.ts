/**
 * Duty: what a node does when Redis has recorded a step: it takes over what the answer says, has its sweeper look again when the step's timers are
 * due, and reports to telemetry what the step says.
 */
import type { Assignment, CommitAnswer } from '../../core/ports/ports.ts'
import { type Attributes, noTelemetry, type Telemetry } from '../../core/ports/telemetry.ts'
import type { Steer } from '../../core/worker/message/steer.ts'
import type { Step } from './step/step.ts'
import type { TurnHost } from './turn-host.ts'
import type { TurnPause } from './turn-pause.ts'
import type { TurnSession } from './turn-session.ts'

/** The part of a turn that this needs. */
interface RecordedTurn {
  readonly host: TurnHost
  readonly assignment: Assignment
  readonly session: TurnSession
  readonly pausing: TurnPause
  readonly steers: { note(steers: readonly Steer[], run: number): void }
}

/** `retryMs`: set if this commit ended the turn and its worker waits that long for its retry. */
export function noteRecorded(
  { host, assignment, session, pausing, steers }: RecordedTurn,
  answer: CommitAnswer & { readonly kind: 'ok' },
  step: Step,
  retryMs: number | undefined,
): void {
  session.learn(answer)
  host.wake(answer.wakeups)
  if (answer.isPaused) pausing.begin()
  if (answer.steered) steers.note(answer.steered, step.position.run)
  if (answer.opensGate) host.noteGate()
  if (step.timers.length > 0) host.noteTimer(Math.min(...step.timers.map((timer) => timer.ms)))
  if (retryMs !== undefined) host.noteTimer(retryMs)
  if (assignment.notifies && step.outcome !== undefined) host.noteTimer(0)
  if (host.telemetry !== noTelemetry) countStep(host.telemetry, assignment, step)
}

function countStep(telemetry: Telemetry, { sessionId, workerId, kind }: Assignment, step: Step): void {
  const { outcome, failure, notes, costs = [] } = step
  const attributes = { sessionId, workerId, kind }
  if (outcome !== undefined) {
    const code: Attributes = outcome === 'failed' && failure ? { code: failure.code } : {}
    telemetry.count('runs.ended', 1, { ...attributes, outcome, ...code })
  }
  for (const { model, microUsd } of costs)
    if (microUsd === null) telemetry.count('calls.unpriced', 1, { ...attributes, model })
    else telemetry.count('cost.microUsd', microUsd, { ...attributes, model })
  for (const [type, details] of notes) {
    if (type !== 'worker.spawned') continue
    const { id: child, kind: childKind } = details
    telemetry.startSpan('spawn', { ...attributes, child, childKind }).end({})
  }
  const unknown = notes.filter(([type]) => type === 'tool.unknown').length
  if (unknown > 0) telemetry.count('calls.unknown', unknown, attributes)
}
