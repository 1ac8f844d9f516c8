/**
 * Waits for what a session gives: the result of a run, the rest of all its workers, its events. What does not come in time fails the test with an error that
 * says what was waited for, and how the session stood.
 */
import { inspect } from 'node:util'
import type { Session, WorkerCounts } from '../../../src/client/session/session.ts'
import type { EventsQuery } from '../../../src/client/session/session-events.ts'
import type { TroupeEvent } from '../../../src/core/event/event.ts'
import type { RunResult } from '../../../src/core/history/entry.ts'
import { patienceMs } from './patience.ts'

interface ResultWait {
  /** Default: as `session.result`. */
  readonly run?: number
  /** For work that takes long by itself. */
  readonly msMax?: number
}

export async function awaitResult<Result>(
  session: Session<Result>,
  { run, msMax = patienceMs }: ResultWait = {},
): Promise<RunResult<Result>> {
  const what = run === undefined ? 'the result' : `the result of run ${run}`
  return inTime(session, what, msMax, (signal) => session.result({ run, signal }))
}

/** Resolves once no worker of the session has a run that is not over. */
export async function awaitIdle(session: Session): Promise<WorkerCounts> {
  return inTime(session, 'the rest of all workers', patienceMs, (signal) => session.idle({ signal }))
}

/** Follows the session until its events end, its signal fires, or the test stops. */
export async function* awaitEvents(
  session: Pick<Session, 'id' | 'events' | 'report'>,
  query: EventsQuery = {},
  msMax = patienceMs,
): AsyncGenerator<TroupeEvent, void, undefined> {
  const patience = AbortSignal.timeout(msMax)
  const signal = AbortSignal.any([patience, ...(query.signal ? [query.signal] : [])])
  const came: string[] = []
  for await (const event of session.events({ ...query, signal })) {
    came.push(event.type)
    yield event
  }
  // A follower ends at its signal without an error.
  if (patience.aborted && !query.signal?.aborted)
    throw await late(session, `more than ${came.length} events (the last: ${came.slice(-5).join(', ')})`, msMax)
}

async function inTime<T>(
  session: Session,
  what: string,
  msMax: number,
  wait: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const signal = AbortSignal.timeout(msMax)
  try {
    return await wait(signal)
  } catch (error) {
    throw error === signal.reason ? await late(session, what, msMax) : error
  }
}

async function late(session: Pick<Session, 'id' | 'report'>, what: string, msMax: number): Promise<Error> {
  const stood = await session.report().catch((error: unknown) => error)
  const state = inspect(stood, { depth: 4, maxArrayLength: 10, maxStringLength: 500, breakLength: 160 })
  return new Error(`Waited ${msMax} ms in vain for: ${what} of session ${session.id}. It stands so: ${state}`)
}
