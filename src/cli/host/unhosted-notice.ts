/**
 * Duty: tells a person who waits for a session that some of its workers wait, because no live node hosts their kind. It says so once for
 * each kind, until a node hosts that kind. It is for watching only, and no decision depends on it.
 */

import type { Troupe } from '../../client/client.ts'
import type { Roster } from '../../client/event/activity.ts'
import type { Session } from '../../client/session/session.ts'
import type { KindSummary } from '../../client/summaries.ts'
import type { Worker } from '../../client/worker.ts'
import { countWaiting } from '../../words/amounts.ts'
import { toComplaint } from '../exit-code.ts'
import { safe } from '../terminal/output.ts'

/** After this time most workers of a hosted kind have begun, so that most sessions need no check. */
const lookAfterMs = 3_000

/** Seldom, because each look reads all records of the session. */
const recordsEveryMs = 30_000

/** The number of workers that wait for a turn, by kind. */
type Waiting = ReadonlyMap<string, number>

export class UnhostedNotice implements Disposable {
  readonly #troupe: Troupe
  readonly #waiting: () => Waiting | Promise<Waiting>
  readonly #tell: (line: string) => void
  readonly #everyMs: number
  readonly #reported = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  constructor(
    troupe: Troupe,
    waiting: () => Waiting | Promise<Waiting>,
    tell: (line: string) => void,
    everyMs = lookAfterMs,
  ) {
    this.#troupe = troupe
    this.#waiting = waiting
    this.#tell = tell
    this.#everyMs = everyMs
    this.#lookIn(lookAfterMs)
  }

  #lookIn(ms: number): void {
    this.#timer = setTimeout(() => {
      // The wait for the result reports that Redis is away.
      void this.#look()
        .catch(() => {})
        .then(() => this.#timer && this.#lookIn(this.#everyMs))
    }, ms)
  }

  async #look(): Promise<void> {
    const waiting = await this.#waiting()
    if (waiting.size === 0) return
    const known = await this.#troupe.kinds()
    for (const [kind, workers] of waiting) {
      if (isHosted(kind, known)) this.#reported.delete(kind)
      else if (this.#timer && !this.#reported.has(kind)) {
        this.#reported.add(kind)
        const advice = `start a node whose workers folder has ${kind}.ts`
        const what = `no live node hosts ${kind}: ${countWaiting(workers, 'worker')} for one`
        this.#tell(`troupe: ${safe(what)}; ${safe(advice)}`)
      }
    }
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }
}

/** For somebody who waits for this session, according to its records. */
export function noticeFor(session: Session, troupe: Troupe, tell: (line: string) => void): UnhostedNotice {
  return new UnhostedNotice(troupe, () => queuedIn(session), tell, recordsEveryMs)
}

/** According to the events of the session. `but`: this kind is left out, because other code reports it. */
export function queuedAmong(roster: Roster | undefined, but: string): Waiting {
  const kinds = roster?.kinds().filter((kind) => kind !== but) ?? []
  const counts = kinds.map((kind): [string, number] => [kind, roster?.counts(kind).queued ?? 0])
  return new Map(counts.filter(([, queued]) => queued > 0))
}

/** According to the records of the session. */
export async function queuedIn(session: Session): Promise<Waiting> {
  const { workers } = await session.report()
  const counts = new Map<string, number>()
  for (const { kind, status } of workers) if (status === 'queued') counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

/** According to the record of this worker alone. */
export async function queuedAt(worker: Worker): Promise<Waiting> {
  const { kind, status } = await worker.report()
  return new Map(status === 'queued' ? [[kind, 1]] : [])
}

/** Whether a live node hosts the kind now. */
export function isHosted(kind: string, known: readonly KindSummary[]): boolean {
  return known.some((summary) => summary.kind === kind && summary.hosted)
}

/** A warning about a session or message that troupe has just accepted; null if a live node will take it. Never throws, so that the caller does not send it again. */
export async function unhostedWarning(
  what: 'session' | 'message',
  of: string | Promise<{ readonly kind: string }>,
  troupe: Troupe,
): Promise<string | null> {
  try {
    const kind = typeof of === 'string' ? of : (await of).kind
    if (isHosted(kind, await troupe.kinds())) return null
    return `no live node hosts "${kind}" just now: the ${what} waits until one does.`
  } catch (thrown) {
    return `the ${what} was accepted, but it is not known whether a live node takes it: ${toComplaint(thrown).message}`
  }
}
