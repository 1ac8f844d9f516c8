/**
 * Duty: follows a session until its run has ended, reports each commit on the way, and cancels the session if the person interrupts.
 * FOLLOW-1 Events are for watching. The result comes from the record, so that a follower that fails or lags delays nothing.
 * FOLLOW-2 After an interrupt the wait is bounded: a session whose nodes are gone cannot keep the person waiting.
 * FOLLOW-3 A lost terminal cancels nothing. The follower leaves, and the session goes on.
 */

import { Roster } from '../../client/activity.ts'
import type { Session } from '../../client/session.ts'
import { type RawEvent, streamIdOf } from '../../core/event/event.ts'
import type { RunResult } from '../../core/history/entry.ts'
import { toComplaint } from '../exit-code.ts'
import type { Interrupt } from '../terminal/interrupt.ts'
import { safe, tell } from '../terminal/output.ts'

/** A stream id may be a little older than the time of the session, because of how Redis keeps its clock. */
const beginningMsMargin = 1_000
/** How long the last events may take to arrive after the result. */
const lastEventsMsMax = 1_000
/** How long a cancel may take after an interrupt. */
const cancelMsMax = 10_000

/** Receives the events that were stored together, in order. The roster has noted them before. */
export type CommitListener = (commit: readonly RawEvent[], roster: Roster) => void

/** Receives events that are not stored (streamed text, progress of tools), between the commits. */
type LiveListener = (event: RawEvent) => void

/** Returns the result; undefined if the person interrupted and the session has not ended by now. */
export async function followToEnd(
  session: Session,
  interrupt: Interrupt,
  onCommit: CommitListener,
  onLive?: LiveListener,
): Promise<RunResult | undefined> {
  const over = new AbortController()
  const leave = new AbortController()
  const following = reportCommits(session, over.signal, onCommit, onLive).catch((thrown: unknown) => {
    if (!over.signal.aborted) tell(`troupe: events are no longer followed: ${safe(toComplaint(thrown).message)}`)
  })
  let timer: NodeJS.Timeout | undefined
  const stop = () => {
    if (interrupt.isHangUp) {
      leave.abort()
      return
    }
    timer = setTimeout(() => leave.abort(), cancelMsMax)
    session.cancel('interrupted at the command line').catch((thrown: unknown) => {
      tell(`troupe: the session could not be cancelled: ${safe(toComplaint(thrown).message)}`)
      leave.abort()
    })
  }
  if (interrupt.signal.aborted) stop()
  else interrupt.signal.addEventListener('abort', stop, { once: true })
  try {
    const result = await session.result({ signal: leave.signal })
    await orAfter(following, lastEventsMsMax)
    return result
  } catch (thrown) {
    if (leave.signal.aborted) return undefined
    throw thrown
  } finally {
    clearTimeout(timer)
    interrupt.signal.removeEventListener('abort', stop)
    over.abort()
    await orAfter(following, lastEventsMsMax)
  }
}

/** Events that were stored together share a stream id and arrive together. */
async function reportCommits(
  session: Session,
  signal: AbortSignal,
  onCommit: CommitListener,
  onLive: LiveListener | undefined,
): Promise<void> {
  const { createdAt } = await session.summary()
  // From the very beginning: workers that were spawned earlier are part of the picture.
  const after = createdAt === null ? '0-0' : `${createdAt - beginningMsMargin}-0`
  const roster = new Roster()
  let commit: RawEvent[] = []
  const flush = () => {
    if (commit.length > 0) onCommit(commit, roster)
    commit = []
  }
  try {
    for await (const event of session.events({ after, signal, transient: onLive !== undefined })) {
      if (event.transient) {
        flush()
        onLive?.(event)
        continue
      }
      if (commit[0] !== undefined && streamIdOf(commit[0].id) !== streamIdOf(event.id)) flush()
      if (commit.length === 0) setImmediate(flush)
      commit.push(event)
      roster.note(event)
      if (event.ended) return
    }
  } finally {
    flush()
  }
}

async function orAfter(promise: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  await Promise.race([promise, new Promise((resolve) => (timer = setTimeout(resolve, ms)))])
  clearTimeout(timer)
}
