/**
 * Duty: tells who follows a session of the kinds in it whose workers wait because no live node hosts them, each once, until one does.
 * For watching only: who waits is known from events, and nothing is decided by it.
 */
import type { Troupe } from '../client/client.ts'
import { waits } from './findings.ts'
import { isHosted } from './kind-host.ts'
import { safe } from './output.ts'
import type { Roster } from './roster.ts'

/** Workers of a hosted kind have mostly begun after this long, and nothing is asked about them. */
const lookEveryMs = 3_000

export class UnhostedNotice implements Disposable {
  readonly #troupe: Troupe
  readonly #tell: (line: string) => void
  readonly #timer: NodeJS.Timeout
  readonly #told = new Set<string>()
  #roster: Roster | undefined

  /** Of the kind `but` somebody else tells. */
  constructor(troupe: Troupe, but: string, tell: (line: string) => void) {
    this.#troupe = troupe
    this.#tell = tell
    this.#timer = setInterval(() => void this.#look(but), lookEveryMs)
  }

  see(roster: Roster): void {
    this.#roster = roster
  }

  async #look(but: string): Promise<void> {
    const roster = this.#roster
    const waiting = roster?.kinds().filter((kind) => kind !== but && roster.counts(kind).queued > 0) ?? []
    if (roster === undefined || waiting.length === 0) return
    try {
      const known = await this.#troupe.kinds()
      for (const kind of waiting) {
        if (isHosted(kind, known)) this.#told.delete(kind)
        else if (!this.#told.has(kind)) {
          this.#told.add(kind)
          const advice = `start a node whose workers folder has ${kind}.ts`
          const what = `no live node hosts ${kind}: ${waits(roster.counts(kind).queued)} for one`
          this.#tell(`troupe: ${safe(what)}; ${safe(advice)}`)
        }
      }
    } catch {
      // A Redis that is away is told by who waits for the result.
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
  }
}
