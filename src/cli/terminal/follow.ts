/**
 * Duty: stays with a session until its run has ended, tells each commit on the way, and cancels it when the person interrupts.
 * F-a What is told is for watching; the result comes from the record. A follower that fails or lags holds nothing up.
 * F-b After an interrupt the wait is bounded: a session whose nodes are gone cannot keep the person waiting.
 */
import type { Session } from '../../client/session.ts'
import { type RawEvent, streamIdOf } from '../../core/event/event.ts'
import type { RunResult } from '../../core/history/entry.ts'
import { toComplaint } from '../exit-code.ts'
import { Roster } from '../view/roster.ts'
import type { Interrupt } from './interrupt.ts'
import { safe, tell } from './output.ts'

/** A stream id may be a little older than the session's own time, by how Redis keeps its clock. */
const beginningMsMargin = 1_000
/** How long the last events may take to arrive after the result. */
const lastEventsMsMax = 1_000
/** How long a cancel may take after an interrupt. */
const cancelMsMax = 10_000

/** Told of each commit of the session, in order; the roster knows all of it already. */
export type Teller = (commit: readonly RawEvent[], roster: Roster) => void

/** Told of what is not stored (text as it streams, progress of tools) between the commits. */
type LiveTeller = (event: RawEvent) => void

/** The result, or undefined when the person interrupted and the cancel did not come to an end in time. */
export async function followToEnd(
  session: Session,
  interrupt: Interrupt,
  teller: Teller,
  liveTeller?: LiveTeller,
): Promise<RunResult | undefined> {
  const over = new AbortController()
  const tooLate = new AbortController()
  const following = tellCommits(session, over.signal, teller, liveTeller).catch((thrown: unknown) => {
    if (!over.signal.aborted) tell(`troupe: events are no longer followed: ${safe(toComplaint(thrown).message)}`)
  })
  let timer: NodeJS.Timeout | undefined
  const cancel = () => {
    timer = setTimeout(() => tooLate.abort(), cancelMsMax)
    session.cancel('interrupted at the command line').catch((thrown: unknown) => {
      tell(`troupe: the session could not be cancelled: ${safe(toComplaint(thrown).message)}`)
      tooLate.abort()
    })
  }
  if (interrupt.signal.aborted) cancel()
  else interrupt.signal.addEventListener('abort', cancel, { once: true })
  try {
    const result = await session.result({ signal: tooLate.signal })
    await orAfter(following, lastEventsMsMax)
    return result
  } catch (thrown) {
    if (tooLate.signal.aborted) return undefined
    throw thrown
  } finally {
    clearTimeout(timer)
    interrupt.signal.removeEventListener('abort', cancel)
    over.abort()
    await orAfter(following, lastEventsMsMax)
  }
}

/** Events of one commit share an id and arrive together; they are told together. */
async function tellCommits(
  session: Session,
  signal: AbortSignal,
  teller: Teller,
  liveTeller: LiveTeller | undefined,
): Promise<void> {
  const { createdAt } = await session.standing()
  // From its very beginning: who was spawned before we listened is part of the picture.
  const after = createdAt === null ? '0-0' : `${createdAt - beginningMsMargin}-0`
  const roster = new Roster()
  let commit: RawEvent[] = []
  const flush = () => {
    if (commit.length > 0) teller(commit, roster)
    commit = []
  }
  try {
    for await (const event of session.events({ after, signal, transient: liveTeller !== undefined })) {
      if (event.transient) {
        flush()
        liveTeller?.(event)
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
