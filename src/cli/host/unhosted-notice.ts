/**
 * Duty: tells who waits for a session of the kinds in it whose workers wait because no live node hosts them, each once, until one does.
 * For watching only: nothing is decided by it.
 */
import type { Troupe } from '../../client/client.ts'
import type { Session } from '../../client/session.ts'
import type { KindSummary } from '../../client/summaries.ts'
import { toComplaint } from '../exit-code.ts'
import { safe } from '../terminal/output.ts'
import { countWaiting } from '../view/count.ts'
import type { Roster } from '../view/roster.ts'

/** Workers of a hosted kind have mostly begun after this long, and nothing is asked about them. */
const lookAfterMs = 3_000

/** How many workers of each kind wait for a turn. */
type Waiting = ReadonlyMap<string, number>

export class UnhostedNotice implements Disposable {
  readonly #troupe: Troupe
  readonly #waiting: () => Waiting | Promise<Waiting>
  readonly #tell: (line: string) => void
  readonly #everyMs: number
  readonly #told = new Set<string>()
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
      // A Redis that is away is told by who waits for the result.
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
      if (isHosted(kind, known)) this.#told.delete(kind)
      else if (this.#timer && !this.#told.has(kind)) {
        this.#told.add(kind)
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

/** As events tell. Of the kind `but` somebody else tells. */
export function queuedAmong(roster: Roster | undefined, but: string): Waiting {
  const kinds = roster?.kinds().filter((kind) => kind !== but) ?? []
  const counts = kinds.map((kind): [string, number] => [kind, roster?.counts(kind).queued ?? 0])
  return new Map(counts.filter(([, queued]) => queued > 0))
}

/** As the records say. */
export async function queuedIn(session: Session): Promise<Waiting> {
  const { workers } = await session.report()
  const counts = new Map<string, number>()
  for (const { kind, status } of workers) if (status === 'queued') counts.set(kind, (counts.get(kind) ?? 0) + 1)
  return counts
}

/** By a node that is live now. */
export function isHosted(kind: string, known: readonly KindSummary[]): boolean {
  return known.some((summary) => summary.kind === kind && summary.hosted)
}

/** Of what was just given to a worker of this kind; null where a node will take it. Never throws: what was accepted is not given again. */
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
    return `the ${what} was accepted; whether a live node takes it could not be seen: ${toComplaint(thrown).message}`
  }
}
